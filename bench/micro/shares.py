"""What busy jobs really get: the scheduled one and 1, 3 and 7 idle ones, on one node of one CPU.

Yoo & Jette, section 2.2.2: of n classes, n - 1 get 1 % each and the scheduled one (100 - n + 1) %.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, BENCH)

import asked  # noqa: E402
from guard import guarded, putting_away  # noqa: E402

LAB = [os.path.join(BENCH, "lab"), "--name", "cosched-lab-shares"]
DEADLINE_S = 60


def lab(*arguments):
    done = subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"shares: lab {arguments[0]} failed")
    return done.stdout


def jobs():
    """(time, {job id: record}), the time being that of the reading, in the middle of the call."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        before = time.monotonic()
        records = json.loads(lab("status", "--json"))["nodes"][0]["jobs"]
        after = time.monotonic()
        if records is not None:
            return (before + after) / 2, {record["job_id"]: record for record in records}
        if after > deadline:
            sys.exit("shares: classd does not answer")


def start(count, options):
    program = asked.kernel(options, "ep")
    return [subprocess.Popen([*LAB, "mpiexec", "--mpi", options.mpi, "-n", "1", "--preload",
                              program, "B", "--repeat", "1000"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
            for _ in range(count)]


def stop(running):
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        process.wait()


def wait_for(count):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if len(jobs()[1]) == count:
            return
        time.sleep(0.2)
    sys.exit(f"shares: {count} jobs did not all register within {DEADLINE_S} s")


def measure(count, options):
    """A row of the table: percentages of the scheduled job and of the idle ones."""
    running = start(count, options)
    try:
        wait_for(count)
        time.sleep(1)
        start_s, before = jobs()
        time.sleep(options.seconds)
        end_s, after = jobs()
    finally:
        stop(running)
    wait_for(0)
    percent = {job: 100 * (after[job]["cpu_s"] - before[job]["cpu_s"]) / (end_s - start_s)
               for job in after}
    return {"jobs": count,
            "scheduled": [percent[job] for job in after if after[job]["scheduled"]],
            "idle": sorted(percent[job] for job in after if not after[job]["scheduled"])}


def main():
    parser = argparse.ArgumentParser(prog="run_shares.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--jobs", type=asked.at_least(1), nargs="+", default=[2, 4, 8], metavar="N",
                        help="how many jobs, for each row")
    parser.add_argument("--seconds", type=asked.at_least(1, float), default=10, help="how long each row is measured")
    parser.add_argument("--tolerance", type=asked.at_least(0, float), default=0.3, metavar="POINTS",
                        help="how far an idle share may be from 1 %%")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                        help="any other setting of cosched.ini")
    parser.add_argument("--json", type=asked.new_file, metavar="FILE", help="write the rows")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    asked.needs_root(parser)
    asked.needs_mpi(parser, options.mpi)
    asked.needs_program(parser, asked.kernel(options, "ep"))

    rows, owner = [], ["--owner", str(os.getpid())]
    try:
        lab("up", "--nodes", "1", "--build", options.build, *owner,
            "--set=scheduler.time_slice=1h", "--set=scheduler.gmet=0s", "--set=timer.align=no",
            *(f"--set={text}" for text in options.set))
        print("jobs  scheduled % (expected)  idle % each (expected 1)")
        for count in options.jobs:
            row = measure(count, options)
            rows.append(row)
            print(f"{count:4}  {row['scheduled'][0]:11.2f} ({101 - count:8})  "
                  f"{', '.join('%.2f' % share for share in row['idle'])}", flush=True)
    finally:
        with putting_away():
            lab("down", *owner)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    good = all(len(row["scheduled"]) == 1 and len(row["idle"]) == row["jobs"] - 1
               and all(abs(share - 1) <= options.tolerance for share in row["idle"])
               and abs(row["scheduled"][0] - (101 - row["jobs"])) <= options.tolerance * row["jobs"]
               for row in rows)
    if not good:
        sys.exit("shares: beyond the tolerance")


if __name__ == "__main__":
    sys.exit(guarded(main))
