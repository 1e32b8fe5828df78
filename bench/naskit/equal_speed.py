"""Comparisons of runs during which the machine was as fast: `bench/run_report.sh DIR --equal-speed`. Where its speed changes
within minutes, as virtual machines' does, a ratio of two runs of one repetition is one of speeds, too."""

import statistics
import sys

from columns import columns
from guard import guarded

from . import NasError, experiments, records, repetitions, summary

PACE_WITHIN = 0.02  # of a run, by what was looked at all the time
CALIBRATION_WITHIN = 0.1  # before and after it, by the slower of the two
RATIOS = ("mean_response_s", "mean_wait_s", "makespan_s", "cpu_s")
HEADER = ("experiment", "workload", "value", "mpi", "scheduler", "runs", "stretch", "CPU time over alone", "over", "response", "wait",
          "last end", "CPU time")
EXPLANATION = (f"Medians of runs, in brackets the least and the most. A run is compared with those of its sitting, of any repetition, "
               f"whose pace was within {PACE_WITHIN:.0%} of its own and whose calibrations within {CALIBRATION_WITHIN:.0%}: with the "
               "median of them. \"runs\": those for which there was such a run alone, of all. Disturbed runs, and lines without any "
               "figure, are left out.")
FIGURES = HEADER.index("stretch")


def _near(value, other, within):
    return bool(value and other) and max(value, other) <= (1 + within) * min(value, other)


def as_fast(run, other):
    """Whether the machine was as fast during both. False where nobody looked."""
    return (records.sitting(run) == records.sitting(other)
            and _near(run.get("pace_s"), other.get("pace_s"), PACE_WITHIN)
            and _near(run["calibration_s"], other["calibration_s"], CALIBRATION_WITHIN))


def _median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


class Alone:
    """Jobs alone, by the experiment's reference."""

    def __init__(self, measured):
        self.scheduler = records.reference({run["scheduler"] for run, _ in measured})
        self.jobs = [(run, job) for run, _ in measured if run["scheduler"] == self.scheduler for job in run["jobs"]]

    def ratio(self, run, measure, per_degree):
        """The mean of the jobs' ratios to themselves alone at the run's speed; None where one has no such run."""
        found = []
        for job in records.ending(run):
            base = _median(other[measure] for alone, other in self.jobs
                           if alone["mpi"] == run["mpi"] and other["job"] == job["job"] and as_fast(run, alone))
            found.append(records.ratio(job[measure], base and base * (job["degree"] if per_degree else 1)))
        return records.mean(found) if found and None not in found else None


def _sequence(run):
    return [(job["job"], job["arrival_s"]) for job in run["jobs"]]


def _over(run, found, bases):
    """{measure: ratio} to the baseline's runs at this one's speed, of the same jobs in the same order; of the same value or,
    where it has none, of all."""
    near = [other for base, other in bases
            if (base["workload"], base["mpi"]) == (run["workload"], run["mpi"]) and base["value"] in (run["value"], None)
            and _sequence(base) == _sequence(run) and as_fast(run, base)]
    # As pairs, one by one: each of them says whether there is such a ratio.
    return {measure: _median(summary.ratio(measure, found, other) for other in near) for measure in RATIOS}


def _cell(values):
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.2f} ({min(known):.2f}..{max(known):.2f})" if known else "-"


def _row(place, group, alone, base, bases):
    stretches = [alone.ratio(run, "response_s", True) if run["together"] else None for run, _ in group]
    over = [_over(run, found, bases) for run, found in group] if place[-1] != base else []
    times = [alone.ratio(run, "cpu_s", False) for run, _ in group]
    near = sum(value is not None for value in times)
    return (*place, f"{near} of {len(group)}", _cell(stretches), _cell(times),
            base if any(value is not None for one in over for value in one.values()) else "-",
            *(_cell(one[measure] for one in over) for measure in RATIOS))


def _says_something(row):
    return any(cell != "-" for cell in row[FIGURES:])


def _rows(name, measured):
    """The rows of an experiment's [(run, measures)], and one of all of a scheduler's where that is more than one place."""
    alone = Alone(measured)
    base = repetitions.base_of(experiments.TABLE.get(name, experiments.BY_HAND), {run["scheduler"] for run, _ in measured})
    bases = [(run, found) for run, found in measured if run["scheduler"] == base]
    places, whole = {}, {}
    for run, found in measured:
        if run["scheduler"] != alone.scheduler:
            places.setdefault(summary.place_of(run), []).append((run, found))
            whole.setdefault(run["scheduler"], []).append((run, found))
    for key, group in sorted(places.items(), key=repetitions.order):
        title, value, mpi, scheduler = key
        yield _row((name, title, "" if value is None else f"{value:.3g}", mpi, scheduler), group, alone, base, bases)
    for scheduler, group in sorted(whole.items()) if len(places) > len(whole) else ():
        yield _row((name, "all", "", "all", scheduler), group, alone, base, bases)


def rows(runs, nodes):
    """HEADER, and a row for each workload under each scheduler; `runs` are the lines of runs.jsonl, judged."""
    counted = [run for run in records.valid(runs) if not run["disturbed"]]
    found = [HEADER]
    for name in dict.fromkeys(run["experiment"] for run in counted):
        measured = [(run, records.measures({**run, "jobs": [{"stretch": None, "fair_stretch": None, **job} for job in run["jobs"]]},
                                           nodes)) for run in counted if run["experiment"] == name]
        found += filter(_says_something, _rows(name, summary.sound(measured)))
    return found


def text(folder):
    runs, cluster = repetitions.read(folder)
    if all(run.get("pace_s") is None for run in runs):
        raise NasError(f"{folder}: no run has a pace; a session with --noise 0, or of an older build, has none")
    table = rows(runs, cluster.nodes)
    if len(table) == 1:
        raise NasError(f"{folder}: has no two runs during which the machine was as fast")
    return "\n".join([*columns(table), "", EXPLANATION])


if __name__ == "__main__":
    sys.exit(guarded(lambda: repetitions.print_of_folder("--equal-speed", __doc__, text)))
