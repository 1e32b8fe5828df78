"""The command behind bench/run_dcs.sh, from its options to its end."""

import argparse
import os
import sys
import time

from naskit import NasError, ending, environment, store, times
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
    if "sequential" not in stored:
        raise NasError(f"--resume {options.resume}: is a results folder of run_nas.sh: resume it by that")
    kept = argparse.Namespace(**{**vars(options), **stored})
    if options.build != defaults["build"]:
        kept.build = os.path.abspath(options.build)
    return kept, results


def _report(current):
    """The path of the report; None where it cannot be drawn, which loses no figure."""
    try:
        current.write_report()
    except ReportError as error:
        print(f"run_dcs: no report: {' '.join(str(error).split())}", file=sys.stderr)
        return None
    return current.results.path("report.html")


def main(arguments=None):
    return ending.guarded("run_dcs", lambda: _main(arguments))


def _main(arguments):
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
            _print_plan(results.left(units, options.noise, options.retries) if options.resume else units, options)
            return 0
        if not options.resume:
            results = _new_store(options)
        current = session.Session(options, site.Site(options), results, units)
        current.check()
        results.make()
        environment.write(results, options, current.site.kept_mib, current.number)
        current.make_files()
        current.progress.announce()
        number = ending.hold(current, "run_dcs")
        status = ending.tell(current, "run_dcs", lambda: _report(current))
        if not current.is_complete():
            print(f"run_dcs: go on with: bench/run_dcs.sh --resume {results.folder}", file=sys.stderr)
    except NasError as error:
        print(f"run_dcs: {error}", file=sys.stderr)
        return 2
    return 128 + number if number is not None else status
