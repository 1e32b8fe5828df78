"""The options of bench/run_nas.sh, and its end."""

import argparse
import os
import signal
import subprocess
import sys
import time

from . import (NasError, environment, experiments, lab_site, plan, schedulers, session, store, times,
               workload_file)

BENCH = lab_site.BENCH


def parser():
    top = argparse.ArgumentParser(
        prog="run_nas.sh", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs NAS jobs under several schedulers on a virtual cluster (or, with --hosts, a real\n"
                    "one) and compares them.",
        epilog="experiments:\n" + "\n".join(
            f"  {experiment.name:10} {experiment.title}" for experiment in experiments.TABLE.values())
        + "\n  all        all of them but quick")
    top.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="default: quick")
    top.add_argument("--out", metavar="DIR", help="where results go (default: results/<time>)")
    top.add_argument("--resume", metavar="DIR",
                     help="go on with a session that was interrupted; all else is in DIR")
    top.add_argument("--mpi", action="append", choices=["mpich", "openmpi"],
                     help="may be repeated (default: both)")
    top.add_argument("--jobs", action="append", default=[], metavar="MIX",
                     help="jobs that are started together, KERNEL.CLASS.RANKS[*REPEAT] or hog.RANKS "
                          "each, e.g. \"cg.A.2*5 ep.A.2\"; may be repeated for several mixes")
    top.add_argument("--workload", action="append", default=[], metavar="NAME|FILE",
                     help="of bench/workloads, or an .ini file: instead of the experiments' own; may be "
                          "repeated")
    top.add_argument("--scale", type=float, default=1.0, metavar="F",
                     help="make jobs, and times of arrival, F times as long")
    top.add_argument("--npb-dir", metavar="DIR",
                     help="use the official NPB binaries DIR/bin/KERNEL.CLASS.x; {mpi} in DIR stands "
                          "for mpich or openmpi")
    top.add_argument("--runs", type=int, metavar="N", help="repetitions (default: 2 or 3)")
    top.add_argument("--schedulers", metavar="LIST", help=schedulers.HELP.replace("%", "%%"))
    top.add_argument("--time-slice", metavar="T", help="default: mostly 1s")
    top.add_argument("--gmet", metavar="T", help="default: 250ms or a third of the time-slice")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="any other setting of cosched.ini")
    top.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                     help="set a variable for jobs that run with the library")
    top.add_argument("--nodes", type=int, metavar="N", help="default: 2, or all of --hosts")
    top.add_argument("--cpus-per-node", type=int, metavar="N", help="default: 1, or as --hosts says")
    top.add_argument("--hosts", metavar="FILE",
                     help="run on these hosts, over ssh, whose cosched runs already; a line is HOST or "
                          "HOST:CPUS")
    top.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of runs and jobs")
    top.add_argument("--noise", type=float, default=1.2, metavar="F",
                     help="a run is disturbed when the calibration before or after it takes F times its "
                          "median (default: 1.2; 0: do not look)")
    top.add_argument("--retries", type=int, default=2, metavar="N",
                     help="how often a disturbed run is repeated (default: 2)")
    top.add_argument("--timeout", type=float, default=900, metavar="S", help="limit of one job")
    top.add_argument("--build", default=os.path.join(environment.ROOT, "build", "release"),
                     metavar="DIR", help="use this build as it is (default: build/release, made anew)")
    top.add_argument("--dry-run", action="store_true",
                     help="print the plan and a guess of how long it takes, and run nothing")
    return top


def check(options):
    """Fills in what was left out."""
    options.mpi = list(dict.fromkeys(options.mpi or ["mpich", "openmpi"]))
    for name, least in (("runs", 1), ("nodes", 1), ("cpus_per_node", 1), ("retries", 0)):
        if getattr(options, name) is not None and getattr(options, name) < least:
            raise NasError(f"--{name.replace('_', '-')}: must be at least {least}")
    if options.scale <= 0:
        raise NasError("--scale: must be more than 0")
    for text in options.set:
        if "=" not in text or "." not in text.partition("=")[0]:
            raise NasError(f"--set {text}: must be section.key=value")
        _times_of_set(options, text)
    for name in ("time_slice", "gmet"):
        if getattr(options, name):
            times.seconds(getattr(options, name))
    options.nodes = options.nodes or 2
    options.cpus_per_node = options.cpus_per_node or 1
    options.build = os.path.abspath(options.build)
    if options.schedulers:
        options.schedulers = ",".join(scheduler.script or scheduler.name for scheduler in
                                      schedulers.parse_list(options.schedulers).values())
    if options.npb_dir:
        options.npb_dir = os.path.abspath(options.npb_dir)


def _times_of_set(options, text):
    """--set scheduler.time_slice=T is --time-slice T: units set theirs, and must not undo it."""
    key, _, value = (part.strip() for part in text.partition("="))
    for name in ("time_slice", "gmet"):
        if key == "scheduler." + name:
            setattr(options, name, value)


def requests(options):
    """What is asked of each experiment."""
    names = options.experiments or ([] if options.jobs else
                                    ["workloads" if options.workload else "quick"])
    chosen = experiments.choose(names)
    files = [workload_file.read(name) for name in options.workload]
    found = [_request(options, experiment, files or
                      [workload_file.read(name) for name in experiment.workloads])
             for experiment in chosen]
    if options.jobs:
        found.append(_request(options, experiments.BY_HAND,
                              [workload_file.of_mix(text) for text in options.jobs]))
    return found


def _request(options, experiment, files):
    named = options.schedulers or ",".join(experiment.schedulers)
    return plan.Request(
        experiment, tuple(files), tuple(schedulers.parse_list(named).values()),
        options.runs or experiment.runs,
        times.seconds(options.time_slice) if options.time_slice else experiment.time_slice_s,
        times.seconds(options.gmet) if options.gmet else experiment.gmet_s)


class Interrupted(BaseException):
    """A signal; not an Exception, so that nobody takes it for a fault of his own."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _interrupted(number, _frame):
    # What is left behind is put away now; a second ctrl-C must not stop that.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def _catch_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)


def _new(options):
    """(results, units) of a session that begins."""
    check(options)
    units = plan.build(requests(options), options.mpi, options.seed, options.scale)
    results = store.Store(os.path.abspath(options.out or os.path.join(
        "results", time.strftime("%Y%m%d-%H%M%S"))))
    if os.path.exists(results.path("runs.jsonl")):
        raise NasError(f"{results.folder}: has results already; continue with --resume, or name "
                       "another folder")
    return results, units


def _resumed(options, given):
    """(options, results, units) of a session that goes on."""
    if set(given) - {"--resume", options.resume, "--resume=" + options.resume}:
        raise NasError("--resume: takes everything from the folder; leave out other options")
    results = store.Store(os.path.abspath(options.resume))
    plain = results.read_json("plan.json")
    units = plan.from_json(plain, results.path("plan.json"))
    kept = argparse.Namespace(**{**vars(options), **plain["options"], "resume": options.resume})
    return kept, results, units


def _print_plan(units):
    counted = {}
    for unit in units:
        counted[unit.key] = counted.get(unit.key, 0) + 1
    for key, count in counted.items():
        print(f"{count} x {' '.join(str(word) for word in key if word is not None)}")
    print(f"{len(units)} runs, about {times.left(sum(map(plan.nominal_s, units)))}")


def _site(options):
    return lab_site.LabSite(options)


def _hold(current):
    """Runs the session; returns the number of the signal that ended it, or None."""
    _catch_signals()
    try:
        current.run()
    except Interrupted as signalled:
        print("\ninterrupted", file=sys.stderr)
        return signalled.number
    return None


def _report(folder):
    """The pictures, by a room of its own; without it, or when it fails, the figures are there all
    the same."""
    if not os.path.isdir(os.path.join(BENCH, "report")):
        return None
    done = subprocess.run([sys.executable, "-m", "report", folder], cwd=BENCH, check=False,
                          stdin=subprocess.DEVNULL)
    path = os.path.join(folder, "report.html")
    if done.returncode != 0 or not os.path.exists(path):
        print(f"run_nas: no report (status {done.returncode}); again with: "
              f"cd {BENCH} && python3 -m report {folder}", file=sys.stderr)
        return None
    return path


def _finish(current, results):
    """Tells people what there is. Returns the exit status."""
    if not current.runs:
        return 0
    current.summarize()
    report = _report(results.folder)
    with open(results.path("summary.txt"), encoding="utf-8") as file:
        print(f"\n{file.read()}\nresults: {results.folder}" + (f"\nreport:  {report}" if report else ""))
    for run, job in current.failed():
        print(f"run_nas: NOT VERIFIED: {run['scheduler']} {run['mpi']} {job['job']}, "
              f"see {results.folder}/logs/{job['log']}", file=sys.stderr)
    return 1 if current.failed() else 0


def main(arguments=None):
    given = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(given)
    try:
        if options.resume:
            options, results, units = _resumed(options, given)
        else:
            results, units = _new(options)
        if options.dry_run:
            _print_plan(units)
            return 0
        current = session.Session(options, _site(options), results, units)
        current.check()
        results.make()
        environment.write(results, options)
        if not options.resume:
            results.write_json("plan.json", plan.to_json(options.seed, units, environment.kept(options)))
        current.progress.announce()
        number = _hold(current)
        status = _finish(current, results)
    except NasError as error:
        print(f"run_nas: {error}", file=sys.stderr)
        return 2
    if number is not None:
        print(f"run_nas: go on with: bench/run_nas.sh --resume {results.folder}", file=sys.stderr)
        return 128 + number
    return status
