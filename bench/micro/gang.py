"""Slots without a master: jobs on six different sets of nodes, of four with one CPU each, come and go at
random under policy gang. What is looked at, once a second on every node: does a job have the same slots on
all its nodes, do two of one node ever overlap, and what part of the time does each hold its nodes, beside the
fairest that there is (fair_parts)?
"""

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time

import asked
from guard import guarded, putting_away
from fair_parts import fair_parts
from labkit import cgroups
from npbkit import cases

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NAME = "cosched-lab-gang"
LAB = [os.path.join(BENCH, "lab"), "--name", NAME]
ROUND = 60  # slots
STEP = 20  # slots: how soon jobs look for more at the earliest
WANTED = 3  # points from the fair part at most
PLACES = [("node0", "node1"), ("node2", "node3"), ("node0", "node2"), ("node1", "node3"),
          ("node0", "node1", "node2", "node3"), ("node0", "node3")]
GRACE_S = 120  # for a job that shares its nodes with all others to come to its end


def lab(*arguments, enter=None):
    done = subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=False, preexec_fn=enter)
    if done.returncode != 0:
        sys.exit(f"gang: lab {arguments[0]} failed")
    return done.stdout


def run_jobs(place, options, chance, results):
    """One job after the other on the nodes of this place, until the time is over."""
    program = asked.kernel(options, options.kernel)
    end_s = time.monotonic() + options.seconds
    while True:
        time.sleep(chance.uniform(0, options.pause))
        length_s = chance.randint(options.shortest, options.longest)
        if time.monotonic() + length_s > end_s:
            return
        done = subprocess.run(
            [*LAB, "mpiexec", "--mpi", options.mpi, "-n", str(len(place)), "--on", ",".join(place),
             "--preload", "--timeout", str(10 * length_s + GRACE_S), "--done-pattern", "verified=yes",
             "--grace-cpu", "20", program, options.size, "--seconds", str(length_s)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        results.append((done.returncode == 0 and "verified=yes" in done.stdout, done.returncode, done.stdout))


def records(status):
    """{node: {job: record}} of what `lab status --json` prints. Ends this program when a daemon has ended by itself: jobs
    would run on, uncoordinated, and overlap nowhere."""
    for node in json.loads(status)["nodes"]:
        for title in ("classd", "timerd"):
            if title not in node["daemons"]:
                sys.exit(f"gang: {title} of {node['name']} has ended by itself")
    return {node["name"]: {job["job_id"]: job for job in node["jobs"]}
            for node in json.loads(status)["nodes"] if node["jobs"] is not None}


def look():
    """(time, {node: {job: record}}) of the nodes that answer. With the daemons' weight: as one process among those of up to
    four jobs on a CPU a look takes up to 25 s."""
    before = time.monotonic()
    nodes = records(lab("status", "--json", enter=lambda: cgroups.enter_daemons_group(NAME)))
    return (before + time.monotonic()) / 2, nodes


def overlapping(nodes):
    """(node, job, job) with a slot in common."""
    return {(name, one, other) for name, jobs in nodes.items()
            for one, other in itertools.combinations(sorted(jobs), 2)
            if set(jobs[one]["slots"] or []) & set(jobs[other]["slots"] or [])}


def sets_of_jobs(nodes):
    """{job: the different sets that its nodes say}"""
    said = {}
    for jobs in nodes.values():
        for job, record in jobs.items():
            said.setdefault(job, set()).add(frozenset(record["slots"] or []))
    return said


def differing(nodes):
    """Jobs whose nodes say different things."""
    return {job for job, sets in sets_of_jobs(nodes).items() if len(sets) > 1}


def unmended(nodes):
    """(job, the slots that all its nodes say) of jobs whose nodes say different things. Mending by intersection
    leaves what they have in common as it is: where that is another at the next look, so is the change."""
    return {(job, frozenset.intersection(*sets)) for job, sets in sets_of_jobs(nodes).items() if len(sets) > 1}


def longest_s(samples, found):
    """For how long at most something was there that was found again at every look: from the look before to the look after."""
    since, longest, before_s = {}, 0.0, None
    for at_s, nodes in samples:
        lasted = [at_s - begun_s for begun_s in since.values()]
        since = {what: since.get(what, at_s if before_s is None else before_s) for what in found(nodes)}
        longest = max([longest, *lasted, *(at_s - begun_s for begun_s in since.values())])
        before_s = at_s
    return longest


def jobs_met(samples, job):
    """How many jobs, itself included, it met on any of its nodes at one time, at most."""
    return max((len(set().union(*(jobs for jobs in nodes.values() if job in jobs))) for _, nodes in samples))


def steady(samples, name, shortest_s):
    """The looks of each time in which the same jobs, at least two, were on the node for so long."""
    stretches = [[]]
    for look_ in samples:
        jobs = set(look_[1].get(name, {}))
        if stretches[-1] and jobs != set(stretches[-1][-1][1].get(name, {})):
            stretches.append([])
        stretches[-1].append(look_)
    return [looks for looks in stretches
            if looks and len(looks[0][1].get(name, {})) > 1 and looks[-1][0] - looks[0][0] >= shortest_s]


def fair(looks, job):
    """The part that would have been fair, on average over the looks: who else is there, anywhere, changes."""
    parts = [fair_parts([set(jobs) for jobs in nodes.values()])[job] for _, nodes in looks]
    return sum(parts) / len(parts)


def held(begin, end):
    """The part of its node's time that a job held between two looks, by that node's own clock: a look at all nodes takes seconds on
    a busy machine."""
    return (end["scheduled_s"] - begin["scheduled_s"]) / (end["registered_s"] - begin["registered_s"])


def shares(samples, shortest_s):
    """Of each job in each such time: its part of the node's time minus the fair one, and minus one of as
    many as it met anywhere (its due), in points; and the time."""
    found = []
    for name in sorted({name for _, nodes in samples for name in nodes}):
        for looks in steady(samples, name, shortest_s):
            (begin_s, begin), (end_s, end) = looks[0], looks[-1]
            for job, record in end[name].items():
                part = held(begin[name][job], record)
                found.append((100 * (part - fair(looks, job)), 100 * (part - 1 / jobs_met(looks, job)),
                              end_s - begin_s))
    return found


def settling(samples, slot_s):
    """{slots: (looks at a job, points on average, at most)}: how far what slots jobs have (those that all their nodes say) is
    from the fair parts, by how many slots ago somebody came or went on any node, in steps of STEP."""
    found, there, since = {}, None, None
    for at_s, nodes in samples:
        jobs_now = {name: frozenset(jobs) for name, jobs in nodes.items()}
        if jobs_now != there:
            there, since = jobs_now, at_s
        parts = fair_parts([set(jobs) for jobs in nodes.values()])
        step = min(int((at_s - since) / slot_s) // STEP * STEP, ROUND)
        for job, sets in sets_of_jobs(nodes).items():
            if len(parts) > 1:
                found.setdefault(step, []).append(abs(100 * (len(frozenset.intersection(*sets)) / ROUND - parts[job])))
    return {step: (len(points), sum(points) / len(points), max(points)) for step, points in sorted(found.items())}


def stays(samples, shortest_s):
    """Of each job on each node, if it was looked at there for so long: its part of the node's time minus the fair one, in points."""
    seen = {}
    for at_s, nodes in samples:
        parts = fair_parts([set(jobs) for jobs in nodes.values()])
        for name, jobs in nodes.items():
            for job, record in jobs.items():
                seen.setdefault((name, job), []).append((at_s, record, parts[job]))
    found = []
    for looks in seen.values():
        stay_s = looks[-1][0] - looks[0][0]
        if stay_s >= shortest_s:
            due_s = sum((one[2] + next_[2]) / 2 * (next_[0] - one[0]) for one, next_ in itertools.pairwise(looks))
            found.append(100 * (held(looks[0][1], looks[-1][1]) - due_s / stay_s))
    return found


def watch(options):
    """Runs everything; returns the looks and (verified, status, text) of each job."""
    results, samples, owner = [], [], ["--owner", str(os.getpid())]
    record = open(options.record, "w", encoding="utf-8") if options.record else None
    try:
        lab("up", "--build", options.build, "--nodes", "4", *owner, "--set", "scheduler.policy=gang", "--set",
            f"gang.slot={options.slot}ms")
        chance = random.Random(options.seed)
        # Nobody waits for them where this is interrupted: their jobs go with the lab.
        threads = [threading.Thread(target=run_jobs, args=(place, options, random.Random(chance.random()), results),
                                    daemon=True) for place in PLACES]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            samples.append(look())
            if record:
                print(json.dumps(samples[-1]), file=record, flush=True)
            time.sleep(1)
    finally:
        with putting_away():
            lab("down", *owner)
        if record:
            record.close()
    return samples, results


def report_looks(samples, options):
    """Prints what the looks at the nodes say. False when two jobs of a node may have had a slot in common for longer than a round,
    between two looks for instance."""
    round_s = ROUND * options.slot / 1000
    overlap_s, differ_s = longest_s(samples, overlapping), longest_s(samples, differing)
    unmended_s = longest_s(samples, unmended)
    gap_s = max((after - before for (before, _), (after, _) in itertools.pairwise(samples)), default=0)
    parts = shares(samples, round_s)
    most = max((len(jobs) for _, nodes in samples for jobs in nodes.values()), default=0)
    print(f"slots of {options.slot} ms, rounds of {round_s:g} s; {len(samples)} looks at 4 nodes, "
          f"{gap_s:.1f} s apart at most, up to {most} jobs on one")
    print(f"two jobs of a node with a slot in common: for {overlap_s:.1f} s at most")
    print(f"a job with different slots on its nodes:  for {differ_s:.1f} s at most, "
          f"{unmended_s:.1f} s without another change meanwhile")
    if parts:
        total_s = sum(seconds for _, _, seconds in parts)
        mean = sum(abs(points) * seconds for points, _, seconds in parts) / total_s
        print(f"a job's part of a node's time, {len(parts)} times a round or longer with the same jobs there:\n"
              f"  minus the fair part: {min(parts)[0]:+.1f} to {max(parts)[0]:+.1f} points, "
              f"{mean:.1f} on average\n"
              f"  minus an equal part of the jobs that it meets anywhere: {min(part[1] for part in parts):+.1f} "
              f"points at least")
    settled = settling(samples, options.slot / 1000)
    if settled:
        print("a job's slots, by how many slots ago somebody came or went anywhere, from the fair part:")
        for step, (number, mean, most) in settled.items():
            end = f"to {step + STEP}" if step < ROUND else "and more"
            print(f"  {step:2} {end:8}: {mean:4.1f} points on average, {most:4.1f} at most ({number} looks at a job)")
    whole = stays(samples, round_s)
    if whole:
        # Above it is who fills slots that nobody else of the node can use.
        below = sum(points < -WANTED for points in whole)
        print(f"a job's part of a node's time over its whole stay, {len(whole)} of a round or longer, minus the fair part:\n"
              f"  {min(whole):+.1f} points at least, {statistics.median(whole):+.1f} in the median; "
              f"more than {WANTED} below it: {below}")
    if overlap_s > round_s:
        print(f"gang: two jobs of a node had a slot in common, for up to {overlap_s:.1f} s: more than a round", file=sys.stderr)
    if gap_s > round_s:
        print(f"gang: looks were up to {gap_s:.1f} s apart, more than a round: a slot in common for so long may not have been seen",
              file=sys.stderr)
    met = any(sum(bool(job["slots"]) for job in jobs.values()) > 1 for _, nodes in samples for jobs in nodes.values())
    if not met:
        print("gang: no two jobs with slots were ever seen on one node, so nothing is known of them", file=sys.stderr)
    return met and max(overlap_s, gap_s) <= round_s


def report(samples, results, options):
    """Prints the figures; 0 when everything is as it must be."""
    verified = sum(fine for fine, _, _ in results)
    print(f"jobs {len(results)}, verified {verified}")
    disjoint = report_looks(samples, options)
    known = len({job for _, nodes in samples for jobs in nodes.values() for job in jobs})
    if known < len(results):
        print(f"gang: classd was seen to know {known} of {len(results)} jobs: the others ran without the library, or it had turned "
              "itself off", file=sys.stderr)
    for fine, status, text in results:
        if not fine:
            print(f"status {status}: {text[-500:]}", file=sys.stderr)
    return 0 if results and verified == len(results) <= known and disjoint else 1


def checked(look):
    """A look, or ValueError: when, and each node's jobs."""
    when, nodes = look if isinstance(look, list) and len(look) == 2 else (None, None)
    if not isinstance(when, (int, float)) or not isinstance(nodes, dict) or not all(
            isinstance(jobs, dict) and all(isinstance(job, dict) and "slots" in job for job in jobs.values())
            for jobs in nodes.values()):
        raise ValueError("a line is no look")
    return look


def main():
    parser = argparse.ArgumentParser(prog="run_gang.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(BENCH)
    parser.add_argument("--build", default=os.path.join(root, "build", "release"), metavar="DIR")
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--seconds", type=asked.at_least(1), default=600, metavar="S", help="for how long jobs are started (600)")
    parser.add_argument("--slot", type=asked.at_least(1), default=200, metavar="MS", help="length of a slot (200)")
    parser.add_argument("--kernel", choices=cases.KERNELS, default="cg")
    parser.add_argument("--size", choices=cases.CLASSES, default="W")
    parser.add_argument("--shortest", type=asked.at_least(1), default=10, metavar="S", help="job (10)")
    parser.add_argument("--longest", type=asked.at_least(1), default=60, metavar="S", help="job (60)")
    parser.add_argument("--pause", type=asked.at_least(0), default=20, metavar="S", help="longest, between two jobs (20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--looks", type=argparse.FileType(encoding="utf-8"), metavar="FILE",
                        help="run nothing; report what --record has written there, with slots of --slot")
    parser.add_argument("--record", type=asked.new_file, metavar="FILE",
                        help="write every look there, a line of JSON each")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    if options.looks:
        try:
            looks = [checked(json.loads(line)) for line in options.looks]
        except ValueError as error:
            asked.refuse(parser, f"--looks {options.looks.name}: {error}: name a file that --record has written")
        sys.exit(0 if report_looks(looks, options) else 1)
    if options.shortest > options.longest:
        asked.refuse(parser, f"--shortest {options.shortest}: is more than --longest {options.longest}")
    for place in PLACES:
        if not cases.admissible(options.kernel, len(place)):
            asked.refuse(parser, f"--kernel {options.kernel}: does not run on {len(place)} ranks, as many as one set of nodes has")
    asked.needs_root(parser)
    asked.needs_mpi(parser, options.mpi)
    asked.needs_program(parser, asked.kernel(options, options.kernel))
    samples, results = watch(options)
    sys.exit(report(samples, results, options))


if __name__ == "__main__":
    sys.exit(guarded(main))
