"""The table of fault kinds with their outcomes, for people and as JSON."""

import dataclasses
import json

COLUMNS = ("fault", "injected", "shared", "jobs", "verified", "hung in Finalize", "unscheduled",
           "orphaned", "unattended", "waited", "failures")

LEGEND = """\
shared: injected while two jobs shared both nodes; jobs: those that ran at the time of such a fault (one job may live through several); hung in Finalize:
of the verified ones, those that MPI then failed to end; unscheduled: those that started while a
scheduler was missing and ran without. Longest time that a class was limited, in slices: orphaned, timerd
lived and classd did not (promise: 2); unattended, neither lived; waited, classd lived and it was
others' turn.
"""


def row(title, outcomes, jobs, slice_s, failures):
    longest = [max((getattr(outcome.peaks, name) for outcome in outcomes), default=0.0) / slice_s
               for name in ("orphaned_s", "unattended_s", "waited_s")]
    return [title, len(outcomes), sum(outcome.shared for outcome in outcomes), len(jobs), sum(job.verified for job in jobs),
            sum(job.hung for job in jobs), sum(not job.carried for job in jobs),
            *(round(slices, 2) for slices in longest), failures]


def rows(campaign, slice_s):
    """One row for each kind, then one for all."""
    found = []
    for kind in sorted({outcome.kind for outcome in campaign.outcomes}):
        outcomes = [outcome for outcome in campaign.outcomes if outcome.kind == kind]
        jobs = [job for job in campaign.jobs if kind in job.kinds]
        found.append(row(kind, outcomes, jobs, slice_s,
                         sum(len(outcome.complaints) for outcome in outcomes)))
    found.append(row("all", campaign.outcomes, campaign.jobs, slice_s, len(failures(campaign))))
    return found


def failures(campaign):
    return [f"fault {outcome.number}, {outcome.kind}: {text}" for outcome in campaign.outcomes
            for text in outcome.complaints] + campaign.complaints


def print_table(campaign, slice_s, stream):
    table = [COLUMNS] + rows(campaign, slice_s)
    widths = [max(len(str(line[column])) for line in table) for column in range(len(COLUMNS))]
    for index, line in enumerate(table):
        cells = [str(cell).ljust(width) if column == 0 else str(cell).rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("| " + " | ".join(cells) + " |", file=stream)
        if index == 0:
            print("|" + "|".join("-" * (width + 1) + "-:"[column > 0]
                                 for column, width in enumerate(widths)) + "|", file=stream)
    print("\n" + LEGEND, file=stream)
    for text in failures(campaign):
        print(f"FAILED {text}", file=stream)


def write_json(campaign, slice_s, path):
    content = {
        "slice_s": slice_s,
        "table": [dict(zip(COLUMNS, line)) for line in rows(campaign, slice_s)],
        "faults": [dataclasses.asdict(outcome) for outcome in campaign.outcomes],
        "jobs": [{"mpi": job.family, "seconds": job.ended_s - job.started_s, "verified": job.verified,
                  "hung_in_finalize": job.hung, "scheduled": job.carried, "faults": sorted(job.kinds)}
                 for job in campaign.jobs],
        "longest_gap_s": campaign.world.watch.longest_gap_s,
        "failures": failures(campaign),
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
