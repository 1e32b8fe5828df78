"""Somebody who computes all the time: prints, for each piece of time in which it had a CPU, begin and end.

usage: pieces_of_time.py SECONDS

In seconds of the wall clock. Pieces are apart by more than a millisecond, which is longer than any interrupt
and shorter than any turn that the kernel gives to another process.
"""

import sys
import time

APART_S = 1e-3


def main():
    begin = last = time.time()
    end = begin + float(sys.argv[1])
    pieces = []
    while last < end:
        now = time.time()
        if now - last > APART_S:
            pieces.append((begin, last))
            begin = now
        last = now
    for piece in pieces:
        print("%.6f %.6f" % piece)


if __name__ == "__main__":
    main()
