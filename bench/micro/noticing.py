"""How long a job takes to get from the CPUs of one node to those of all its nodes.

Two jobs share a virtual cluster of two nodes and run kernels again and again. The daemons record what they
schedule; for each time that a job was idle on both nodes and got one of them, the delay until it had both is
what `coschedctl trace delays` prints. Nodes' timers tick together (align = yes), or at different moments (align =
no): then a job gets its second node only because that node notices its messages. With --apart nodes have
different jobs, and agree on the turns of the first one by its ranks, of which it has most.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time

import asked
import two_jobs
from guard import guarded
from skew import NS_PER_S, SWITCH

SHIFT = 0.4  # of a slice
TRIES = 6
SLICES = 4  # are recorded to see when they begin
NEAR = 1 / 8  # of a slice: as much earlier or later is near enough


def phase_ns(nodes):
    """(By how much the second node's time-slices begin after the first one's, length of a slice, when the first node's last one
    began) of their events [at, job, kind, value], whose moments are of the time of day."""
    first, second = ([at_ns for at_ns, _, kind, _ in events if kind == SWITCH] for events in nodes)
    if len(first) < 2 or not second:
        raise two_jobs.Failed("a node has recorded no switch")
    slice_ns = statistics.median(after - before for before, after in itertools.pairwise(first))
    later = [at_ns - max((begun for begun in first if begun <= at_ns), default=at_ns) for at_ns in second if at_ns >= first[0]]
    near_ns = later[0] if later else 0  # a phase has no beginning: just before a slice is near just after it
    apart = [signed(one - near_ns, slice_ns) for one in later]
    return (near_ns + statistics.median(apart or [0])) % slice_ns, slice_ns, first[-1]


def signed(phase_ns, slice_ns):
    """A phase as from half a slice early to half a slice late."""
    return (phase_ns + slice_ns / 2) % slice_ns - slice_ns / 2


class Recorded:
    """What both nodes schedule for so long."""

    def __init__(self, lab, control, folder, seconds):
        for node in two_jobs.NODES:
            lab.run("exec", node, control, "trace", "start")
        time.sleep(seconds)
        self.dumps = []
        for node in two_jobs.NODES:
            self.dumps.append(os.path.join(folder, node))
            with open(self.dumps[-1], "w", encoding="utf-8") as file:
                file.write(lab.run("exec", node, control, "trace", "dump", node))
        for node in two_jobs.NODES:
            lab.run("exec", node, control, "trace", "stop")

    def phase_ns(self):
        """See there."""
        events = []
        for dump in self.dumps:
            with open(dump, encoding="utf-8") as file:
                events.append(json.load(file)["events"])
        return phase_ns(events)


def shift_timer(lab, recorded):
    """Without alignment each node's time-slices begin when its timerd has: node1's is started again until they begin about SHIFT of
    a slice later than node0's, each time earlier by what it was late the time before. `recorded(slices)` records that many."""
    late_ns, tries = 0, 0
    while True:
        later_ns, slice_ns, begun_ns = recorded(SLICES).phase_ns()
        off_ns = signed(later_ns - SHIFT * slice_ns, slice_ns)
        if abs(off_ns) < NEAR * slice_ns:
            return
        if tries == TRIES:
            raise two_jobs.Failed(f"{two_jobs.NODES[1]}'s slices do not begin when they should, though its timerd was started again {TRIES} times")
        late_ns += off_ns if tries > 0 else 0
        tries += 1
        lab.run("daemons", "kill", "--only", "timerd", "--node", two_jobs.NODES[1])
        time.sleep((begun_ns + SHIFT * slice_ns - late_ns - time.time_ns()) % slice_ns / NS_PER_S)
        lab.run("daemons", "start")


def record(lab, align, options):
    """What `coschedctl trace delays` and `coscheduled` say of one lab's life."""
    control = os.path.join(options.build, "ctl", "coschedctl")
    with two_jobs.lab_up(lab, options, f"timer.align={align}"), tempfile.TemporaryDirectory() as folder, \
            two_jobs.sharing(lab, options, options.apart):
        if align == "no":
            slice_s = json.loads(lab.run("status", "--json"))["nodes"][0]["scheduler"]["time_slice_s"]
            shift_timer(lab, lambda slices: Recorded(lab, control, folder, slices * slice_s))
        found = Recorded(lab, control, folder, options.seconds)
        later_s = found.phase_ns()[0] / NS_PER_S
        return f"slices of {two_jobs.NODES[1]} begin {later_s:.2f} s after those of {two_jobs.NODES[0]}\n" + "".join(two_jobs.printed(control, "trace", what, *found.dumps) for what in ("delays", "coscheduled"))


def numbers(text):
    """Of "A,B"."""
    both = text.split(",")
    if len(both) != len(two_jobs.NODES):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number for each of the two nodes, as in 1,2")
    return tuple(map(asked.at_least(1), both))


def main():
    parser = argparse.ArgumentParser(prog="run_noticing.sh", description=__doc__.splitlines()[0])
    two_jobs.add_options(parser)
    parser.add_argument("--align", choices=["yes", "no", "both"], default="both")
    parser.add_argument("--apart", nargs="?", const=(1, 1), type=numbers, metavar="A,B",
                        help="the second job is of one rank, A times on the first node and B times on the second "
                        "(default: 1,1)")
    parser.add_argument("--seconds", type=asked.at_least(1, float), default=60, metavar="S", help="of recording, for each alignment")
    options = parser.parse_args()
    two_jobs.check_options(parser, options)
    apart = f", one rank of the second {options.apart[0]} and {options.apart[1]} times" if options.apart else ""
    try:
        for align in ("yes", "no") if options.align == "both" else (options.align,):
            print(f"{two_jobs.title(options)}{apart}, align = {align}, {options.seconds:.0f} s",
                  flush=True)
            print(record(two_jobs.Lab("noticing"), align, options), flush=True)
    except two_jobs.Failed as error:
        sys.exit(f"run_noticing: {error}")


if __name__ == "__main__":
    sys.exit(guarded(main))
