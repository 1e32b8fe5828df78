"""By how much the nodes' switches are apart under policy gang, for short slots and long ones.

Two jobs share a virtual cluster of two nodes and have every other slot each. The daemons record what they
schedule. A switch is one job's getting the CPUs at the beginning of a slot; its skew is the time from the first
node's decision to the last one's, late is how long after the slot's beginning by the clock the last one came, and
alone are switches that the other node did not make in that slot. The lab's nodes have one clock: what NTP leaves
between real ones comes on top, and so does what the kernel takes to carry a decision out. For comparison, how late a
process with the daemons' weight is that sleeps until the middle of each slot and does nothing else: a switch takes two
such wake-ups on each node, timerd's and classd's.
"""

import argparse
import json
import math
import os
import sys
import time

import asked
import two_jobs
from sleepers import sleepers
from guard import guarded

SCHEDULED, SWITCH = 3, 8  # kinds of events, of common/protocol.h
NS_PER_S = 1_000_000_000


def switches(events, slot_ns):
    """{(slot's number, job): when} of one node's events [at, job, kind, value]; the times are of the wall clock.
    Jobs that a message schedules within a slot are not among them."""
    found, begun_ns = {}, None
    for at_ns, job, kind, _ in events:
        if kind == SWITCH:
            begun_ns = at_ns
        elif kind == SCHEDULED and at_ns == begun_ns:
            found[(at_ns + slot_ns // 8) // slot_ns, job] = at_ns
    return found


def shared(nodes):
    """The switches of the time for which all nodes recorded, and of the jobs that are on all."""
    first = max(min(number for number, _ in node) for node in nodes)
    last = min(max(number for number, _ in node) for node in nodes)
    jobs = set.intersection(*({job for _, job in node} for node in nodes))
    return [{(number, job): at_ns for (number, job), at_ns in node.items()
             if first < number < last and job in jobs} for node in nodes]


def figures(nodes, slot_ns):
    """(skews, how late the last node was, how many switches were one node's alone), times in ns, ascending."""
    if not all(nodes):
        raise two_jobs.Failed("a node has recorded no switch")
    nodes = shared(nodes)
    together = set.intersection(*(set(node) for node in nodes))
    alone = len(set.union(*(set(node) for node in nodes)) - together)
    times = {switch: [node[switch] for node in nodes] for switch in together}
    skews = sorted(max(at) - min(at) for at in times.values())
    late = sorted(max(max(at) - number * slot_ns, 0) for (number, _), at in times.items())
    return skews, late, alone


def quantile(ascending, part):
    """The smallest value that `part` of them do not exceed."""
    return ascending[max(math.ceil(part * len(ascending)) - 1, 0)]


def line(slot, skews, late, alone):
    if not skews:
        raise two_jobs.Failed(f"slots of {slot}: no switch was made by both nodes")
    cells = [quantile(skews, part) / 1e6 for part in (0.5, 0.9, 0.99, 1)] + [quantile(late, 0.99) / 1e6]
    return f"{slot:8} {len(skews):8}" + "".join(f" {cell:8.3f} ms" for cell in cells) + f" {alone:6}"


def sleepers_line(late_ns):
    late_ns = sorted(late_ns)
    cells = [quantile(late_ns, part) / 1e6 for part in (0.5, 0.9, 0.99, 1)]
    return f"{'  sleeper':8} {len(late_ns):7}" + "".join(f" {cell:8.3f} ms" for cell in cells)


def record(lab, slot, length_ns, options):
    """(the events of each node while the jobs share them, how late the sleepers were)."""
    control = os.path.join(options.build, "ctl", "coschedctl")
    settings = ("scheduler.policy=gang", f"gang.slot={slot}")
    with two_jobs.lab_up(lab, options, *settings):
        with two_jobs.sharing(lab, options):
            for node in two_jobs.NODES:
                lab.run("exec", node, control, "trace", "start", "1000000")
            with sleepers(lab.name, length_ns) as late_ns:
                time.sleep(options.seconds)
            dumps = [json.loads(lab.run("exec", node, control, "trace", "dump", node)) for node in two_jobs.NODES]
    return [dump["events"] for dump in dumps], late_ns


def slot_ns(text):
    """Of 100ms or 1s."""
    for unit, factor in (("ms", 1_000_000), ("s", NS_PER_S)):
        number = text.removesuffix(unit)
        if number != text and number.isdigit() and int(number) * factor >= NS_PER_S // 10:
            return int(number) * factor
    raise argparse.ArgumentTypeError(f"{text}: a slot is so many ms or s, at least 100ms")


def main():
    parser = argparse.ArgumentParser(prog="run_skew.sh", description=__doc__.splitlines()[0])
    two_jobs.add_options(parser)
    parser.add_argument("--slot", action="append", metavar="TIME", help="default: 100ms and 1s")
    parser.add_argument("--seconds", type=asked.at_least(1, float), default=60, metavar="S", help="of recording, for each slot")
    options = parser.parse_args()
    two_jobs.check_options(parser, options)
    slots = options.slot or ["100ms", "1s"]
    try:
        lengths = [slot_ns(slot) for slot in slots]
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    print(f"{options.mpi} {' + '.join(options.kernels)}, class {options.npb_class}, policy gang, "
          f"{options.seconds:.0f} s each; wanted: p99 of 2 ms")
    print(f"{'SLOT':8} {'SWITCHES':>8} {'MEDIAN':>11} {'P90':>11} {'P99':>11} {'MAX':>11} {'P99 LATE':>11} {'ALONE':>6}",
          flush=True)
    try:
        for slot, length_ns in zip(slots, lengths):
            events, late_ns = record(two_jobs.Lab("skew"), slot, length_ns, options)
            print(line(slot, *figures([switches(node, length_ns) for node in events], length_ns)), flush=True)
            print(sleepers_line(late_ns), flush=True)
    except two_jobs.Failed as error:
        sys.exit(f"run_skew: {error}")


if __name__ == "__main__":
    sys.exit(guarded(main))
