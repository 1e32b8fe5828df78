"""The one command: read, decide, draw, write."""

import argparse
import json
import os
import sys

from columns import columns

from . import ReportError, agreement, folder, gantts, names, numbers, pages, sections, together

PAPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "paper.json")


def parser():
    top = argparse.ArgumentParser(
        prog="report", description="Makes report.html, report.md and figures/ from a results folder of "
                                   "bench/run_nas.sh, and puts them into it.")
    top.add_argument("results", metavar="RESULTS_DIR", help="the folder with summary.json")
    other = top.add_mutually_exclusive_group()
    other.add_argument("--together", action="store_true",
                       help="make no report, but print of each recorded run for how long jobs held some of their "
                            "nodes, but not all")
    other.add_argument("--against", metavar="OTHER_DIR",
                       help="make no report, but compare its ratios with those of another session; the exit status "
                            "is 1 where intervals do not overlap")
    return top


def _text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def make(results, charts, rosters, paper):
    """{relative path: bytes} of the report."""
    found = sections.report(results, charts, rosters, paper)
    return pages.files(found, sections.colours(results.experiments.values(), charts))


def run(path):
    results = folder.read(path)
    charts = [_charts(path, group) for group in gantts.choose(results.gantt)]
    rosters = [(entry, chart.jobs) for entry, chart in _charts(path, gantts.rosters(results.gantt))]
    folder.write(path, make(results, charts, rosters, json.loads(_text(PAPER))))


def _charts(path, entries):
    """(entry, chart) of those whose files are there."""
    read = ((entry, folder.read_gantt(path, entry)) for entry in entries)
    return [(entry, chart) for entry, chart in read if chart is not None]


def compare(path, other):
    """Prints how two sessions agree. Returns the exit status."""
    figures = agreement.compare(folder.read(path), folder.read(other))
    print("\n".join([*columns(agreement.rows(figures)), "", agreement.verdict(figures)]))
    return 0 if all(figure.overlaps is not False for figure in figures) else 1


def tell_together(path):
    """Prints a line for each recorded run that has spans."""
    rows = [("experiment", "workload", "value", "MPI", "scheduler", "held, s", "in part, s", "of it")]
    for entry, chart in _charts(path, folder.read(path).gantt):
        held_s = together.held_s(chart)
        if held_s > 0:
            apart_s = together.apart_s(chart)
            rows.append((entry.experiment, entry.workload, numbers.setting(entry.value) if entry.value is not None else "-",
                         names.mpi(entry.mpi), entry.scheduler, f"{held_s:.1f}", f"{apart_s:.2f}",
                         f"{apart_s / held_s:.1%}"))
    if len(rows) == 1:
        raise ReportError(f"{path}: has no run that was recorded and had a scheduler")
    print("\n".join(columns(rows)))
    return 0


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        if options.together:
            return tell_together(options.results)
        if options.against:
            return compare(options.results, options.against)
        run(options.results)
    except ReportError as error:
        print(f"report: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    print(os.path.join(options.results, "report.html"))
    return 0
