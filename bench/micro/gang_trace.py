"""A picture of policy gang: on a virtual cluster of two nodes two jobs begin in the list `short`, one in the list
`long`, and a process on each node computes in the sequential class, which has a share of its own. When all have
their slots a round is recorded. Written are the Gantt chart (SVG) and each node's dump; printed the slots and the
part of the time for which each job had both nodes.
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import time

import asked
import two_jobs
from guard import guarded

import gang

LISTS = "short:1:1h long:{length}"
WAIT_S = 60  # for a job to have its slots on all nodes
HOG = "while True: pass"


@contextlib.contextmanager
def running(command, output=None):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def job_command(lab, options, name):
    program = asked.kernel(options, "cg")
    return [*lab.command, "mpiexec", "--mpi", options.mpi, "-n", "2", "--preload", "--env", f"COSCHED_LIST={name}",
            "--timeout", str(WAIT_S * 6), program, options.npb_class, "--repeat", two_jobs.MANY]


def agreed(lab):
    """{job: its slots} of the jobs that have the same on both nodes."""
    found = {}
    for node in gang.records(lab.run("status", "--json")).values():
        for job, record in node.items():
            found.setdefault(job, []).append(record["slots"])
    return {job: slots[0] for job, slots in found.items() if len(slots) == 2 and slots[0] and slots[0] == slots[1]}


def newcomer(lab, known):
    """The job beside these, when it has its slots."""
    end_s = time.monotonic() + WAIT_S
    while time.monotonic() < end_s:
        new = set(agreed(lab)) - set(known)
        if new:
            return new.pop()
        time.sleep(0.2)
    raise two_jobs.Failed("a job got no slots")


def drawn(slots):
    """A round as a line of letters; a dot is nobody's, or the sequential class's."""
    line = ["."] * gang.ROUND
    for letter, held in zip("ABCDEFGH", slots):
        for slot in held:
            line[slot] = letter
    return "".join(line)


def record(lab, options, names):
    """Records a round; returns the dumps' paths."""
    control = os.path.join(options.build, "ctl", "coschedctl")
    with concurrent.futures.ThreadPoolExecutor() as both:
        list(both.map(lambda node: lab.run("exec", node, control, "trace", "start"), two_jobs.NODES))
        time.sleep(gang.ROUND * options.slot / 1000)
        list(both.map(lambda node: lab.run("exec", node, control, "trace", "stop"), two_jobs.NODES))
    dumps = []
    for node in two_jobs.NODES:
        dumps.append(os.path.join(options.out, f"{node}.trace"))
        with open(dumps[-1], "w", encoding="utf-8") as file:
            text = lab.run("exec", node, control, "trace", "dump", node)
            file.write(re.sub("|".join(names), lambda job: names[job.group()], text))
    return dumps


def export(options, dumps):
    control = os.path.join(options.build, "ctl", "coschedctl")
    with open(os.path.join(options.out, "gang.svg"), "w", encoding="utf-8") as file:
        file.write(two_jobs.printed(control, "trace", "export", "svg", *dumps))
    print(two_jobs.printed(control, "trace", "coscheduled", *dumps), end="")


def run(lab, options):
    names, slots = {}, {}
    with contextlib.ExitStack() as stack:
        hogs = [stack.enter_context(running([*lab.command, "exec", "--users", node, sys.executable, "-c", HOG]))
                for node in two_jobs.NODES]
        for count, name in enumerate(("short", "short", "long")):
            stack.enter_context(running(job_command(lab, options, name)))
            names[newcomer(lab, names)] = f"{name}-{count + 1}"
        time.sleep(options.warm_up)
        slots = agreed(lab)
        dumps = record(lab, options, names)
        if any(hog.poll() is not None for hog in hogs):
            raise two_jobs.Failed("a process that was to compute has ended by itself")
    print(f"round: {drawn([slots.get(job, []) for job in names])} ({', '.join(names.values())})")
    export(options, dumps)


def main():
    parser = argparse.ArgumentParser(prog="run_gang_trace.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(two_jobs.BENCH)
    parser.add_argument("--build", default=os.path.join(root, "build", "release"), metavar="DIR")
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--out", default=os.path.join(root, "results", "gang_trace"), metavar="DIR")
    parser.add_argument("--slot", type=asked.at_least(1), default=200, metavar="MS", help="length of a slot (200)")
    parser.add_argument("--long", type=asked.at_least(1), default=4, metavar="N", help="slots of a piece of list long (4)")
    parser.add_argument("--share", default="20%", help="of the sequential class (20%%)")
    parser.add_argument("--class", dest="npb_class", default="W")
    parser.add_argument("--warm-up", type=asked.at_least(0, float), default=5, metavar="S")
    options = parser.parse_args()
    options.build, options.out = os.path.abspath(options.build), os.path.abspath(options.out)
    two_jobs.check_place(parser, options, asked.kernel(options, "cg"))
    asked.new_folder(parser, options.out)
    lab = two_jobs.Lab("gang-trace")
    try:
        with lab.up(options, "scheduler.policy=gang", f"gang.slot={options.slot}ms",
                    "gang.lists=" + LISTS.format(length=options.long), f"sequential.share={options.share}"):
            run(lab, options)
    except two_jobs.Failed as failure:
        sys.exit(f"run_gang_trace.sh: {failure}")
    print(f"chart: {options.out}/gang.svg")


if __name__ == "__main__":
    sys.exit(guarded(main))
