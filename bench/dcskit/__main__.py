"""From bench/: python3 -m dcskit RESULTS_DIR makes the report of a folder that bench/run_dcs.sh left anew."""

import os
import sys

from guard import guarded
from naskit import NasError, store
from report import ReportError

from . import report


def main(arguments):
    if len(arguments) != 1:
        sys.exit("dcskit: needs one results folder")
    results = store.Store(arguments[0])
    try:
        report.write(results.folder, results.read_json("summary.json"))
    except (NasError, ReportError) as error:
        sys.exit(f"run_report: {' '.join(str(error).split())}")
    print(os.path.join(results.folder, "report.html"))
    return 0


sys.exit(guarded(main, sys.argv[1:]))
