"""The options of bench/run_nas.sh, and its end."""

import argparse
import os
import signal
import sys

from . import NasError, environment, results, session, workload

DEFAULT_JOBS = ["cg.A.2*6 ep.A.2*2"]


def parser():
    top = argparse.ArgumentParser(
        prog="run_nas.sh",
        description="Runs NAS jobs dedicated, uncoordinated and coscheduled, alternating, on a virtual "
                    "cluster, and compares their response times.")
    top.add_argument("--out", metavar="DIR", help="where results go (default: results/<time>)")
    top.add_argument("--mpi", action="append", choices=["mpich", "openmpi"],
                     help="may be repeated (default: both)")
    top.add_argument("--jobs", action="append", metavar="MIX",
                     help="jobs that are started together, KERNEL.CLASS.RANKS[*REPEAT] each, e.g. "
                          "\"cg.A.2*5 ep.A.2\"; may be repeated for several mixes "
                          f"(default: \"{DEFAULT_JOBS[0]}\")")
    top.add_argument("--npb-dir", metavar="DIR",
                     help="use the official NPB binaries DIR/bin/KERNEL.CLASS.x; {mpi} in DIR stands "
                          "for mpich or openmpi")
    top.add_argument("--runs", type=int, default=2, metavar="N", help="repetitions (default: 2)")
    top.add_argument("--schedulers", default="dedicated,uncoordinated,cosched", metavar="LIST",
                     help="of " + ", ".join(session.SCHEDULERS))
    top.add_argument("--time-slice", default="1s", metavar="T", help="default: 1s")
    top.add_argument("--gmet", default="250ms", metavar="T", help="default: 250ms")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="any other setting of cosched.ini")
    top.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                     help="set a variable for jobs that run with the library")
    top.add_argument("--nodes", type=int, default=2, metavar="N")
    top.add_argument("--cpus-per-node", type=int, default=1, metavar="N")
    top.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of runs")
    top.add_argument("--timeout", type=float, default=900, metavar="S", help="limit of one job")
    top.add_argument("--build", default=os.path.join(environment.ROOT, "build", "release"),
                     metavar="DIR", help="use this build as it is (default: build/release, made anew)")
    return top


def check(options):
    options.mpi = list(dict.fromkeys(options.mpi or ["mpich", "openmpi"]))
    options.schedulers = list(dict.fromkeys(options.schedulers.split(",")))
    unknown = [name for name in options.schedulers if name not in session.SCHEDULERS]
    if unknown:
        raise NasError(f"--schedulers: unknown: {', '.join(unknown)}")
    for text in options.set:
        if "=" not in text or "." not in text.partition("=")[0]:
            raise NasError(f"--set {text}: must be section.key=value")
    session.seconds(options.time_slice)
    session.seconds(options.gmet)
    options.out = os.path.abspath(options.out or os.path.join("results", session.timestamp()))
    options.build = os.path.abspath(options.build)
    if options.npb_dir:
        options.npb_dir = os.path.abspath(options.npb_dir)
    return [workload.parse_mix(text) for text in options.jobs or DEFAULT_JOBS]


def _terminated(number, _frame):
    raise SystemExit(128 + number)


def main(arguments=None):
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    try:
        mixes = check(options)
        if os.geteuid() != 0:
            raise NasError("the virtual cluster needs root")
        os.makedirs(options.out, exist_ok=True)
        session.write_json(os.path.join(options.out, "environment.json"),
                           environment.describe(options))
        current = session.Session(options, mixes)
        interrupted = False
        try:
            current.run()
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            interrupted = True
    except NasError as error:
        print(f"run_nas: {error}", file=sys.stderr)
        return 2
    if current.records:
        text = results.table(current.records, options.schedulers)
        with open(os.path.join(options.out, "summary.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"\n{text}\nresults: {options.out}/results.json")
    for record in current.failed():
        print(f"run_nas: NOT VERIFIED: {record['scheduler']} {record['mpi']} {record['job']}, "
              f"see {options.out}/logs/{record['log']}", file=sys.stderr)
    if interrupted:
        return 130
    return 1 if current.failed() else 0
