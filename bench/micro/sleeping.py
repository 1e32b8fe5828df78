"""What a job that sleeps costs one that computes.

On a virtual cluster of two nodes a job of both runs alone, beside a job of node0 that sleeps in read(), and beside that one
where classd is told to give sleepers their turns. In turns, several times, each after a pause as long as the others', as a
machine is slower for some seconds after it was busy; prints for each run how long the job took, by its
own account, and the ratios over alone: median, lowest and highest.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import asked
import standing
import two_jobs
from guard import guarded

ALONE, SKIPPED, TURNS = "alone", "beside a sleeper", "beside a sleeper that has turns"
LIMIT_S = "300"
SLEEPS_S = 60


def time_of_job(lab, options):
    """In seconds."""
    text = lab.run("mpiexec", "--mpi", options.mpi, "-n", "2", "--preload", "--timeout", LIMIT_S, "--done-pattern", "verified=",
                   asked.kernel(options, "cg"), options.npb_class, "--repeat", str(options.repeat))
    found = re.search(r"seconds=([\d.]+) .*verified=yes", text)
    if found is None:
        raise two_jobs.Failed(f"the job did not verify:\n{text.strip()}")
    return float(found[1])


def wait_until_it_sleeps(lab, asks):
    """Until classd has seen that; where it does not ask, until the sleeper is registered."""
    end, seen = time.monotonic() + SLEEPS_S, False
    while not seen:
        jobs = json.loads(lab.run("status", "--json"))["nodes"][0]["jobs"] or []
        own = [job for job in jobs if job["job_id"] != two_jobs.SEQUENTIAL]
        seen = any(job["dormant"] for job in own) if asks else bool(own)
        if not seen and time.monotonic() > end:
            raise two_jobs.Failed("classd does not take the sleeper for one: use a shorter --slice" if own else
                                  "the sleeper is not registered: it runs without the library, or that has turned itself off")
        time.sleep(0.2)


def run_beside_sleeper(lab, options, asks):
    with tempfile.TemporaryDirectory(prefix="cosched-sleeping-", dir="/run") as folder:
        sleeper = standing.Job(lab, folder, 2, options.sleeper,
                               ["--mpi", options.mpi, "--on", two_jobs.NODES[0], "--preload"])
        try:
            sleeper.ready()
            time.sleep(options.settle)
            wait_until_it_sleeps(lab, asks)
            return time_of_job(lab, options)
        finally:
            sleeper.tell_end()
            sleeper.end()


def run_once(variant, options):
    lab = two_jobs.Lab("sleeping")
    asks = variant == SKIPPED
    with two_jobs.lab_up(lab, options, f"scheduler.skip_dormant={'yes' if asks else 'no'}"):
        if variant != ALONE:
            return run_beside_sleeper(lab, options, asks)
        time.sleep(options.settle)
        return time_of_job(lab, options)


def measure(options):
    order, seconds = random.Random(options.seed), {ALONE: [], SKIPPED: [], TURNS: []}
    for number in range(1, options.runs + 1):
        for variant in order.sample(list(seconds), len(seconds)):
            seconds[variant].append(run_once(variant, options))
        print(f"  run {number}: " + ", ".join(f"{variant} {times[-1]:.2f} s" for variant, times in seconds.items()),
              flush=True)
    for variant in (SKIPPED, TURNS):
        ratios = [one / alone for one, alone in zip(seconds[variant], seconds[ALONE])]
        print(f"{variant:32} {statistics.median(ratios):.3f} of alone ({min(ratios):.3f} to {max(ratios):.3f})")


def main():
    parser = argparse.ArgumentParser(prog="run_sleeping.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(two_jobs.BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--slice", default="1s")
    parser.add_argument("--gmet", default="67ms")
    parser.add_argument("--class", dest="npb_class", default="A", help="of CG, the job that computes (default: A)")
    parser.add_argument("--repeat", type=asked.at_least(1), default=12, help="CG so many times (default: 12)")
    parser.add_argument("--settle", type=asked.at_least(0, float), default=15, metavar="S",
                        help="how long nothing computes before each job (default: 15)")
    parser.add_argument("--runs", type=asked.at_least(1), default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.sleeper = os.path.join(options.build, "bench", "micro", options.mpi, "exchanges")
    two_jobs.check_place(parser, options, asked.kernel(options, "cg"), options.sleeper)
    print(f"{options.mpi} cg, class {options.npb_class}, {options.repeat} times, slice {options.slice}, "
          f"{options.runs} runs", flush=True)
    try:
        measure(options)
    except (two_jobs.Failed, standing.Failed, subprocess.SubprocessError) as error:
        sys.exit(f"run_sleeping: {error}")


if __name__ == "__main__":
    sys.exit(guarded(main))
