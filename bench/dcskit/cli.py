"""The command behind bench/run_dcs.sh, from its options to its end."""

import argparse
import os
import sys
import time

from naskit import NasError, environment, signals, store, times
from report import ReportError

from . import options as asked, plan, session, site


def _print_plan(units, options):
    counted = {}
    for unit in units:
        counted.setdefault(unit.key, []).append(unit)
    for key, same in counted.items():
        experiment, kind, count, mpi, variant = key
        beside = f" beside {count} {kind}" if count else ""
        print(f"{len(same)} x {experiment} {mpi} {variant}{beside}")
    total_s = sum(plan.nominal_s(unit, options.scale) for unit in units)
    print(f"{len(units)} runs, about {times.left(total_s)} on a quiet machine")


def _new_store(options):
    results = store.Store(os.path.abspath(options.out or os.path.join(
        "results", time.strftime("dcs-%Y%m%d-%H%M%S"))))
    if os.path.exists(results.path("runs.jsonl")):
        raise NasError(f"{results.folder}: has results already; continue with --resume, or name another folder")
    return results


def _resumed(options):
    """(options, results) of a session that goes on."""
    defaults = vars(asked.parser().parse_args([]))
    environment.check_alone(options, defaults, ("resume", "build", "dry_run"))
    results = store.Store(os.path.abspath(options.resume))
    stored = environment.taken_up(results.read_json("environment.json")["options"])
    kept = argparse.Namespace(**{**vars(options), **stored})
    if options.build != defaults["build"]:
        kept.build = os.path.abspath(options.build)
    return kept, results


def _hold(current):
    """Runs the session; returns the number of the signal that ended it, or None."""
    signals.catch()
    try:
        current.run()
    except signals.Interrupted as signalled:
        current.put_away()
        print("\ninterrupted", file=sys.stderr)
        return signalled.number
    return None


def _report(current):
    """The path of the report; None where it cannot be drawn, which loses no figure."""
    try:
        current.write_report()
    except ReportError as error:
        print(f"run_dcs: no report: {' '.join(str(error).split())}", file=sys.stderr)
        return None
    return current.results.path("report.html")


def _finish(current):
    """Tells people what there is. Returns the exit status."""
    if not current.runs:
        return 0
    current.summarize()
    path = _report(current)
    with open(current.results.path("summary.txt"), encoding="utf-8") as file:
        print(f"\n{file.read()}\nresults: {current.results.folder}" + (f"\nreport:  {path}" if path else ""))
    for run, job in current.failed():
        print(f"run_dcs: NOT VERIFIED: {run['scheduler']} {run['mpi']} {job['job']}, see "
              f"{current.results.folder}/logs/{job['log']}", file=sys.stderr)
    return 1 if current.failed() else 0


def main(arguments=None):
    options = asked.parser().parse_args(arguments)
    try:
        if options.resume:
            options, results = _resumed(options)
        else:
            asked.check(options)
        if "gs" not in options.sequential and {7, 8} & set(options.figures):
            print("run_dcs: gs is not installed (Debian package ghostscript): Ghostscript's part is left out",
                  file=sys.stderr)
        units = plan.build(options)
        if options.dry_run:
            _print_plan(results.left(units) if options.resume else units, options)
            return 0
        if not options.resume:
            results = _new_store(options)
        current = session.Session(options, site.Site(options), results, units)
        current.check()
        results.make()
        environment.write(results, options, current.site.kept_mib)
        current.make_files()
        current.progress.announce()
        number = _hold(current)
        status = _finish(current)
        if not current.is_complete():
            print(f"run_dcs: go on with: bench/run_dcs.sh --resume {results.folder}", file=sys.stderr)
    except NasError as error:
        print(f"run_dcs: {error}", file=sys.stderr)
        return 2
    return 128 + number if number is not None else status
