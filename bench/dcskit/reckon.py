"""Reckons the figures of a folder that bench/run_dcs.sh left anew, from what it has of each run: `bench/run_report.sh DIR
--reckon`. What a run said stays as it is."""

import argparse
import sys

from guard import guarded
from naskit import NasError, environment, store
from naskit.reckon import command

from . import options, plan, session


def reckon(folder):
    results = store.Store(folder)
    stored = environment.taken_up(results.read_json("environment.json")["options"])
    kept = argparse.Namespace(**{**vars(options.parser().parse_args([])), **stored})
    made = session.Session(kept, None, results, plan.build(kept))
    if not made.runs:
        raise NasError(f"{folder}: has no run yet")
    made.waits = results.read_json("summary.json")["waits"]
    made.summarize()


if __name__ == "__main__":
    sys.exit(guarded(lambda: command(reckon, __doc__)))
