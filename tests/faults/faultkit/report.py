"""What a campaign has found: as JSON, and as a table of fault kinds with their outcomes.

Everything is made from the JSON's content, so several campaigns can be put into one table.
"""

import dataclasses
import json
import os
import platform
import subprocess
import time

from .watch import DEFAULT_POLICY
from .world import LEAK

COLUMNS = ("fault", "injected", "shared", "jobs", "verified", "hung in Finalize", "unscheduled",
           "orphaned", "unattended", "waited", "leaks", "failures")
PEAKS = ("orphaned_s", "unattended_s", "waited_s")
MARK, END_MARK = "<!-- campaign -->", "<!-- end of campaign -->"

LEGEND = """\
shared: injected while two jobs shared both nodes. jobs: those that ran at the time of such a fault, so one
job may count for several. hung in Finalize: of the verified ones, those that the MPI then failed to end.
unscheduled: those that started while a scheduler was missing and ran without. orphaned, unattended, waited:
the longest time that a class was limited, in slices, while timerd lived and classd did not (promise: 2),
while neither lived, and while classd lived and it was others' turn. leaks: classes, pages, files, processes
and descriptors that nobody needs any more; they count as failures too.
"""


def content(campaign, options, slice_s):
    """Of a campaign that runs or has ended, ready for JSON."""
    return {
        "seed": options.seed, "faults_wanted": options.faults, "only": options.only, "policy": options.policy,
        "slice_s": slice_s, "seconds": time.monotonic() - campaign.start_s,
        "commit": _commit(), "kernel": platform.release().partition("-")[0], "mpi": options.families,
        "faults": [dataclasses.asdict(outcome) for outcome in campaign.outcomes],
        "jobs": [{"mpi": job.family, "seconds": job.ended_s - job.started_s, "verified": job.verified,
                  "hung_in_finalize": job.hung, "scheduled": job.carried, "faults": sorted(job.kinds)}
                 for job in campaign.jobs],
        "complaints": list(campaign.complaints),
        "longest_gap_s": campaign.world.watch.longest_gap_s,
    }


def _commit():
    git = ["git", "-C", os.path.dirname(os.path.realpath(__file__))]
    try:
        name = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True,
                              check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"],
                                 capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + " and changes" * bool(changed)


def failures(one):
    return [f"fault {fault['number']}, {fault['kind']}: {text}" for fault in one["faults"]
            for text in fault["complaints"]] + one["complaints"]


def _row(title, faults, jobs, complaints):
    longest = [max((fault["peaks"][name] / slice_s for slice_s, fault in faults), default=0.0)
               for name in PEAKS]
    faults = [fault for _, fault in faults]
    return [title, len(faults), sum(fault["shared"] for fault in faults), len(jobs),
            sum(job["verified"] for job in jobs), sum(job["hung_in_finalize"] for job in jobs),
            sum(not job["scheduled"] for job in jobs), *(f"{slices:.2f}" for slices in longest),
            sum(LEAK in text for text in complaints), len(complaints)]


def rows(several):
    """One row for each kind, then one for all, which has also what is not known to be of one kind."""
    every_fault = [(one["slice_s"], fault) for one in several for fault in one["faults"]]
    every_job = [job for one in several for job in one["jobs"]]
    found = []
    for kind in sorted({fault["kind"] for _, fault in every_fault}):
        faults = [(slice_s, fault) for slice_s, fault in every_fault if fault["kind"] == kind]
        found.append(_row(kind, faults, [job for job in every_job if kind in job["faults"]],
                          [text for _, fault in faults for text in fault["complaints"]]))
    found.append(_row("all", every_fault, every_job,
                      [text for one in several for text in failures(one)]))
    return found


def table(several):
    """In Markdown, its columns aligned for those who read it as it is."""
    lines = [COLUMNS] + [[str(cell) for cell in row] for row in rows(several)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    text = []
    for index, line in enumerate(lines):
        text.append("| " + " | ".join(cell.rjust(width) if column else cell.ljust(width)
                                      for column, (cell, width) in enumerate(zip(line, widths))) + " |")
        if index == 0:
            text.append("|" + "|".join("-" * (width + 1) + ("-", ":")[column > 0]
                                       for column, width in enumerate(widths)) + "|")
    return "\n".join(text) + "\n"


def section(several):
    """The table with where it comes from, for a document."""
    runs = []
    for one in several:
        only = f" --only {one['only']}" if one["only"] else ""
        if one.get("policy", DEFAULT_POLICY) != DEFAULT_POLICY:
            only += f" --policy {one['policy']}"
        runs.append(f"- `tests/faults/campaign.py --faults {one['faults_wanted']} --seed {one['seed']}{only}`: "
                    f"{len(one['faults'])} faults, {len(one['jobs'])} jobs, {one['seconds'] / 60:.0f} min; "
                    f"commit {one['commit']}, kernel {one['kernel']}, {' and '.join(one['mpi'])}, "
                    f"slices of {one['slice_s'] * 1000:.0f} ms, longest blink of the watch "
                    f"{one['longest_gap_s'] / one['slice_s']:.2f} slices")
    # First lines only: what follows is for whoever mends it, with paths of the machine.
    bad = "".join(f"- seed {one['seed']}: {text.splitlines()[0]}\n" for one in several for text in failures(one))
    return "\n".join(runs) + "\n\n" + table(several) + "\n" + LEGEND + ("\nFailures:\n\n" + bad) * bool(bad)


def write_section(several, path):
    """Into a document, between its marks; a file without them becomes the section alone."""
    text = section(several)
    try:
        with open(path, encoding="utf-8") as file:
            before, mark, rest = file.read().partition(MARK)
    except FileNotFoundError:
        before, mark, rest = "", "", ""
    if mark and END_MARK in rest:
        text = before + MARK + "\n" + text + END_MARK + rest.partition(END_MARK)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_json(one, path):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(one, file, indent=1)
    os.replace(path + ".new", path)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def show(several, stream):
    print(table(several) + "\n" + LEGEND, file=stream)
    for one in several:
        for text in failures(one):
            print(f"FAILED {text}", file=stream)
