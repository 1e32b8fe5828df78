"""Somebody who types: now and then 10 ms of CPU time. Prints how long each took from the moment of the key on, in
milliseconds: who waits for a CPU before he can begin waits, too.

usage: burst.py SECONDS SEED
"""

import random
import sys
import time

BURST_S = 0.01
PAUSES_S = (0.2, 0.8)


def main():
    end_s = time.monotonic() + float(sys.argv[1])
    pauses = random.Random(int(sys.argv[2]))
    while time.monotonic() < end_s:
        begin_s = time.monotonic() + pauses.uniform(*PAUSES_S)
        time.sleep(max(begin_s - time.monotonic(), 0))
        until_s = time.process_time() + BURST_S
        while time.process_time() < until_s:
            pass
        print(f"{(time.monotonic() - begin_s) * 1e3:.1f}", flush=True)


if __name__ == "__main__":
    main()
