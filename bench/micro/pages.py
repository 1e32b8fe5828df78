"""What memory costs that a virtual machine has given back to its host, and whether keeping it (naskit/memory.py) helps.

A block of memory is taken and written to, one byte a page: at once after the same block was let go, after a pause, and after the
same pause while a session would keep memory. Where nothing is given back the three are alike; a block that is small, or
so much free memory in small pieces that little is given back, shows nothing either.
"""

import argparse
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import asked  # noqa: E402
from guard import guarded  # noqa: E402
from naskit import NasError, memory  # noqa: E402


def row(title, values):
    print(f"{title:34} {statistics.median(values):6.2f} us ({min(values):.2f}-{max(values):.2f})")


def main():
    parser = argparse.ArgumentParser(prog="run_pages.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=asked.at_least(1), default=3072, help="size of the block (default: 3072)")
    parser.add_argument("--pause", type=asked.at_least(0, float), default=20, metavar="S", help="default: 20")
    parser.add_argument("--runs", type=asked.at_least(1), default=3, metavar="N")
    options = parser.parse_args()
    there = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    if 2 * options.mib > there:
        asked.refuse(parser, f"--mib {options.mib}: twice as much is needed, and {there} MiB are free: say --mib {there // 2} or less")
    at_once, later, kept = [], [], []
    for _ in range(options.runs):
        memory.page_us(options.mib)
        at_once.append(memory.page_us(options.mib))
        time.sleep(options.pause)
        later.append(memory.page_us(options.mib))
        keeper = memory.Keeper(2 * options.mib)
        try:
            keeper.wait()
        except NasError as error:
            sys.exit(f"run_pages: {error}")
        time.sleep(options.pause)
        kept.append(memory.page_us(options.mib))
        keeper.close()
    print(f"free memory is {'' if memory.is_given_back() else 'not '}given back to a host; a page of {options.mib} MiB, "
          f"median of {options.runs} (least-most):")
    row("taken again at once", at_once)
    row(f"after {options.pause:g} s", later)
    row(f"after {options.pause:g} s, with memory kept", kept)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
