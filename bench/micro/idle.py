"""What a rank that waits uses of its CPU while its job is idle.

On a virtual cluster of two nodes a job computes and has the CPUs for as long as the measurement takes. Another one,
which is idle, waits in a call for a rank of its own that sleeps: whatever it uses, the first one lacks. Its share as an
idle job is 1 % of the node, so that is what a rank uses that only polls.
"""

import argparse
import os
import re
import statistics
import sys
import time

import asked
import two_jobs
from guard import guarded

CALLS = ("recv", "barrier", "allreduce")


def waiter(options):
    return os.path.join(options.build, "bench", "micro", options.mpi, "waiter")


def used(lab, options, call):
    """The part of the time for which the waiting rank had its CPU."""
    text = lab.run("mpiexec", "--mpi", options.mpi, "-n", str(len(two_jobs.NODES)), "--preload", "--env", "COSCHED_STATS=1",
                   "--timeout", str(10 * options.seconds + 120), "--done-pattern", "used_ns=", waiter(options), call, str(options.seconds))
    if " scheduler yes" not in text:
        raise two_jobs.Failed(f"the job that waits ran without a scheduler:\n{text.strip()}")
    found = re.search(r"used_ns=(\d+) waited_ns=(\d+)", text)
    if found is None:
        raise two_jobs.Failed(f"the job that waits said nothing of it:\n{text.strip()}")
    return int(found[1]) / int(found[2])


def measure(lab, options):
    parts = {call: [] for call in CALLS}
    with two_jobs.lab_up(lab, options, "timer.align=no"), two_jobs.sharing(lab, options):
        for _ in range(options.runs):
            for call in CALLS:
                parts[call].append(used(lab, options, call))
    print(f"{'CALL':10} {'RUNS':>5} {'MEDIAN':>9} {'LEAST':>9} {'MOST':>9}")
    for call, values in parts.items():
        print(f"{call:10} {len(values):5} {statistics.median(values):9.3%} {min(values):9.3%} {max(values):9.3%}")


def main():
    parser = argparse.ArgumentParser(prog="run_idle.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(two_jobs.BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--seconds", type=asked.at_least(1), default=10, metavar="S", help="of each wait (default: 10)")
    parser.add_argument("--runs", type=asked.at_least(1), default=3, help="of each call, in turns (default: 3)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    two_jobs.check_place(parser, options, asked.kernel(options, "ep"), waiter(options))
    options.kernels, options.npb_class, options.warm_up = ["ep"], "A", 3
    # Nobody's turn ends before the measurement does.
    options.slice, options.gmet = f"{60 + 2 * options.runs * len(CALLS) * (options.seconds + 5)}s", "1s"
    began = time.monotonic()
    try:
        measure(two_jobs.Lab("idle"), options)
    except two_jobs.Failed as error:
        sys.exit(f"run_idle: {error}")
    print(f"{options.mpi}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(guarded(main))
