"""Reckons the figures of a folder that bench/run_nas.sh left anew, from what it has of each run: `bench/run_report.sh DIR
--reckon`. What a run said stays as it is."""

import argparse
import sys

from guard import guarded

from . import NasError, environment, options, plan, session, store


def reckon(folder):
    results = store.Store(folder)
    plain = results.read_json("plan.json")
    units = plan.from_json(plain, results.path("plan.json"))
    kept = {**vars(options.parser().parse_args([])), **environment.taken_up(plain["options"])}
    made = session.Session(argparse.Namespace(**kept), None, results, units)
    if not made.runs:
        raise NasError(f"{folder}: has no run yet")
    made.summarize()


def command(of_folder, description):
    """The command: reckons the folder that it is given."""
    top = argparse.ArgumentParser(prog="run_report.sh", description=description)
    top.add_argument("results", metavar="RESULTS_DIR", help="that the benchmark left")
    try:
        of_folder(top.parse_args().results)
    except NasError as error:
        sys.exit(f"run_report: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(lambda: command(reckon, __doc__)))
