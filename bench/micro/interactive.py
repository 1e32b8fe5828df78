"""How long 10 ms of CPU time take for somebody who types, next to two coscheduled jobs.

On a virtual cluster of two nodes, a process in the cgroup of node0's sequential class computes for 10 ms now and
then: on an idle cluster, next to two jobs that take turns, and next to them while a process of somebody else
computes in the same cgroup all the time, so that the class is limited to its interactive share in their turns.
"""

import argparse
import math
import os
import subprocess
import sys

import asked
import two_jobs
from guard import guarded

HOG = "while :; do :; done"


def bursts(lab, options):
    """Response times, ascending, in milliseconds."""
    script = os.path.join(two_jobs.BENCH, "micro", "burst.py")
    text = lab.run("exec", "--users", two_jobs.NODES[0], sys.executable, script, str(options.seconds),
                   str(options.seed))
    return sorted(float(line) for line in text.split())


def line(what, times):
    def quantile(part):
        return times[max(math.ceil(part * len(times)) - 1, 0)]
    return (f"{what:42} {len(times):5} {quantile(0.5):8.1f} ms {quantile(0.9):8.1f} ms {quantile(0.99):8.1f} ms "
            f"{times[-1]:8.1f} ms")


def measure(lab, options):
    with two_jobs.lab_up(lab, options, f"sequential.interactive_share={options.share}"):
        print(f"{'':42} {'BURSTS':>5} {'MEDIAN':>10} {'P90':>11} {'P99':>11} {'MAX':>11}")
        print(line("idle cluster", bursts(lab, options)), flush=True)
        with two_jobs.sharing(lab, options):
            print(line("two jobs", bursts(lab, options)), flush=True)
            hog = subprocess.Popen([*lab.command, "exec", "--users", two_jobs.NODES[0], "sh", "-c", HOG],
                                   stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                times = bursts(lab, options)
                if hog.poll() is not None:
                    raise two_jobs.Failed("the process that was to compute has ended by itself")
                print(line("two jobs, and somebody who computes", times), flush=True)
            finally:
                hog.kill()
                hog.wait()


def main():
    parser = argparse.ArgumentParser(prog="run_interactive.sh", description=__doc__.splitlines()[0])
    two_jobs.add_options(parser)
    parser.add_argument("--share", default="5%", help="interactive_share (default: 5%%)")
    parser.add_argument("--seconds", type=asked.at_least(1, float), default=60, metavar="S", help="of each of the three")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    two_jobs.check_options(parser, options)
    print(f"{two_jobs.title(options)}, interactive_share {options.share}", flush=True)
    try:
        measure(two_jobs.Lab("interactive"), options)
    except two_jobs.Failed as error:
        sys.exit(f"run_interactive: {error}")


if __name__ == "__main__":
    sys.exit(guarded(main))
