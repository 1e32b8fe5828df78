"""Whether the nodes give sequential processes their shares at the same moments.

On a virtual cluster of two nodes, a process on each, in the cgroup of the node's sequential class, computes all the
time beside two jobs. In their slices the class has its interactive share, a piece at
the beginning of each period of the limit. Measured is by how much the pieces of the two nodes begin apart, and for
how much of the time at least one of the nodes is in one: a job of both nodes stands still meanwhile.
"""

import argparse
import os
import statistics
import subprocess
import sys

import asked
import two_jobs
from guard import guarded

PERIOD_S = 0.1
SLOT_S = 0.05  # a longer piece is of the class's own slice
QUIET_S = 0.02  # what begins after a shorter pause is the same share, interrupted by a rank


def pieces(lab, options):
    """The pieces of both nodes in others' slices, in order of time."""
    script = os.path.join(two_jobs.BENCH, "micro", "pieces_of_time.py")
    running = [subprocess.Popen([*lab.command, "exec", "--users", node, sys.executable, script,
                                 str(options.seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
               for node in two_jobs.NODES]
    texts = [process.communicate()[0] for process in running]
    if any(process.returncode != 0 for process in running):
        raise two_jobs.Failed("a process that computes ended too early")
    return [[piece for line in text.splitlines()
             for piece in [tuple(float(word) for word in line.split())] if piece[1] - piece[0] < SLOT_S]
            for text in texts]


def beginnings(node):
    """When a period began: a piece after a pause that ended no slot."""
    return [now[0] for before, now in zip(node, node[1:]) if QUIET_S < now[0] - before[1] < PERIOD_S]


def apart(one, other):
    """For each beginning on one node, how far the nearest on the other is; those of other slices left out."""
    distances = [min((abs(time - there) for there in other), default=PERIOD_S) for time in one]
    return sorted(distance for distance in distances if distance <= PERIOD_S / 2)


def total(intervals):
    """Time in at least one of them."""
    time, until = 0.0, 0.0
    for begin, end in sorted(intervals):
        time += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return time


def line(what, nodes):
    distances = apart(*map(beginnings, nodes))
    if len(distances) < 10:
        raise two_jobs.Failed("the class was hardly ever limited on both nodes")
    alone = sum(map(total, nodes)) / 2
    return (f"{what:14} {len(distances):8} {statistics.median(distances) * 1e3:8.1f} ms "
            f"{distances[int(0.9 * (len(distances) - 1))] * 1e3:8.1f} ms {distances[-1] * 1e3:8.1f} ms "
            f"{total(nodes[0] + nodes[1]) / alone:10.2f}")


def main():
    parser = argparse.ArgumentParser(prog="run_periods.sh", description=__doc__.splitlines()[0])
    two_jobs.add_options(parser)
    parser.add_argument("--seconds", type=asked.at_least(1, float), default=30, metavar="S", help="of each of the two")
    options = parser.parse_args()
    two_jobs.check_options(parser, options)
    print(f"{two_jobs.title(options)}; TOGETHER: 1 is always, 2 is never", flush=True)
    print(f"{'align_periods':14} {'PERIODS':>8} {'MEDIAN':>11} {'P90':>11} {'MAX':>11} {'TOGETHER':>10}")
    lab = two_jobs.Lab("periods")
    try:
        for align in ("no", "yes"):
            with two_jobs.lab_up(lab, options, f"cgroup.align_periods={align}"), two_jobs.sharing(lab, options):
                print(line(align, pieces(lab, options)), flush=True)
    except two_jobs.Failed as error:
        sys.exit(f"run_periods: {error}")


if __name__ == "__main__":
    sys.exit(guarded(main))
