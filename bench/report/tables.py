"""Tables of numbers."""

import statistics

from . import compare, experiments, names, numbers
from .blocks import Table

FAIR_PAIR = 1.1
MAIN = ("mean_response_s", "mean_wait_s", "mean_stretch", "makespan_s")


def _place(row):
    return (names.mpi_key(row.mpi), row.workload, experiments.value_key(row.value), names.scheduler_key(row.scheduler))


def _who(experiment, row):
    return (experiments.case_label(experiment, (row.workload, row.value)), names.mpi(row.mpi),
            names.scheduler(row.scheduler))


def unit_of(measure):
    name, unit = names.measure(measure)
    return f"{name}, {unit}" if unit else name


def _figures(statistic):
    """Median, its interval, mean, its interval, n."""
    if statistic is None:
        return (numbers.ABSENT,) * 4 + ("0",)
    return (numbers.plain(statistic.median), numbers.interval(statistic.bootstrap), numbers.plain(statistic.mean),
            numbers.interval(statistic.t), str(statistic.n))


def of_measure(experiment, measure):
    """Both intervals of one measure, with what is known of its runs."""
    header = ("case", "MPI", "scheduler", f"median, {names.measure(measure)[1]}".rstrip(", "), "90 % (bootstrap)",
              "mean", "90 % (Student's t)", "n", "runs", "disturbed", "not verified")
    return Table(header, tuple(
        (*_who(experiment, row), *_figures(row.measures.get(measure)), str(row.runs), str(row.disturbed),
         str(row.unverified)) for row in sorted(experiment.rows, key=_place)), words=3)


def of_ratios(experiment, kind):
    """Ratios of the kind's measure to the baseline's, ours ÷ baseline, and what they say."""
    baseline, measure = names.scheduler(experiment.baseline or ""), kind.ratio
    rows = [row for row in sorted(experiment.rows, key=_place)
            if row.ratios.get(measure) and row.scheduler != experiment.baseline]
    known = any(row.ideals.get(measure) for row in rows)
    header = ("case", "MPI", "scheduler", f"ratio to {baseline}", "90 % (bootstrap)", "mean", "90 % (Student's t)", "n",
              *(["if sharing lost nothing"] if known else []), "in words")
    return Table(header, tuple(
        (*_who(experiment, row), *_figures(row.ratios.get(measure)),
         *([_median(row.ideals.get(measure))] if known else []),
         compare.phrase(compare.compare(row.ratios.get(measure)), kind.faster, kind.slower)) for row in rows), words=3, trailing=1)


def _median(statistic):
    return numbers.plain(statistic.median) if statistic else numbers.ABSENT


def of_all(experiment):
    """Every measure of every row: median and interval, mean and interval."""
    known = list(dict.fromkeys(name for row in experiment.rows for name, found in row.measures.items() if found))
    measures = [name for name in names.MEASURES if name in known] + [name for name in known
                                                                     if name not in names.MEASURES]
    header = ("case", "MPI", "scheduler", "n", "runs", "disturbed", "not verified", *map(unit_of, measures))
    return Table(header, tuple(
        (*_who(experiment, row), str(_n(row)), str(row.runs), str(row.disturbed), str(row.unverified),
         *(_cell(row.measures.get(name)) for name in measures))
        for row in sorted(experiment.rows, key=_place)), words=3)


def _n(row):
    return max((statistic.n for statistic in row.measures.values() if statistic), default=0)


def _cell(statistic):
    if statistic is None:
        return numbers.ABSENT
    if statistic.bootstrap is None and statistic.t is None:
        return numbers.plain(statistic.median)
    return (numbers.plain(statistic.median), f"b {numbers.interval(statistic.bootstrap)}",
            f"t {numbers.interval(statistic.t)}")


def of_jobs(experiment):
    """Stretch and response time of each job."""
    header = ("case", "job", "MPI", "scheduler", "stretch", "90 % (bootstrap)", "90 % (Student's t)", "n",
              "fair stretch", "response, s", "CPU, s")
    return Table(header, tuple(
        (experiments.case_label(experiment, (job.workload, job.value)), job.job, names.mpi(job.mpi),
         names.scheduler(job.scheduler), *_stretch(job.measures.get("stretch")),
         *(numbers.with_interval(job.measures.get(name)) for name in ("fair_stretch", "response_s", "cpu_s")))
        for job in sorted(experiment.jobs, key=lambda job: (*_place(job)[:3], job.job, *_place(job)[3:]))), words=4)


def of_pairs(experiment):
    """Fair stretch, the mean of both jobs, of all pairs under each MPI and scheduler; or None."""
    rows = []
    for mpi in names.mpis(row.mpi for row in experiment.rows):
        for scheduler in names.schedulers(row.scheduler for row in experiment.rows if not row.alone):
            found = sorted(row.measures["mean_fair_stretch"].median for row in experiment.rows if not row.alone
                           and (row.mpi, row.scheduler) == (mpi, scheduler) and row.measures.get("mean_fair_stretch"))
            if found:
                rows.append((names.mpi(mpi), names.scheduler(scheduler), str(len(found)),
                             *map(numbers.plain, (statistics.median(found), found[-(-9 * len(found) // 10) - 1], found[-1])),
                             str(sum(value <= FAIR_PAIR for value in found))))
    header = ("MPI", "scheduler", "pairs", "middle", "90th percentile", "worst", f"at most {FAIR_PAIR:.2f}")
    return Table(header, tuple(rows), words=2) if rows else None


def _stretch(statistic):
    figures = _figures(statistic)
    return (figures[0], figures[1], figures[3], figures[4])


def stretch_overview(found):
    """Of all experiments: jobs, middle, mean and worst of the medians of stretch, per MPI and scheduler; or None."""
    groups = {}
    for experiment in found:
        reference = experiments.reference(experiment)
        for job in experiment.jobs:
            if job.measures.get("stretch") and job.scheduler != reference:  # of that it is 1 by definition
                found_there = groups.setdefault((job.mpi, job.scheduler), [])
                found_there.append((job.measures["stretch"].median, experiment, job))
    rows = []
    for mpi, scheduler in sorted(groups, key=lambda key: (names.mpi_key(key[0]), names.scheduler_key(key[1]))):
        values = [value for value, _, _ in groups[mpi, scheduler]]
        worst, experiment, job = max(groups[mpi, scheduler], key=lambda item: item[0])
        case = experiments.case_label(experiment, (job.workload, job.value))
        where = f", {case}" if case not in (job.job, experiment.name) else ""
        rows.append((names.mpi(mpi), names.scheduler(scheduler), str(len(values)),
                     numbers.plain(statistics.median(values)), numbers.plain(statistics.fmean(values)),
                     numbers.plain(worst), f"{job.job} in {experiment.name}{where}"))
    header = ("MPI", "scheduler", "jobs", "middle", "mean", "worst", "which")
    return Table(header, tuple(rows), words=2, trailing=1) if rows else None


def quality(found):
    """Runs of each experiment, and how many of them were disturbed or not verified."""
    rows = tuple((experiments.kind(experiment.name).title, experiment.name,
                  *(str(sum(getattr(row, name) for row in experiment.rows))
                    for name in ("runs", "disturbed", "unverified"))) for experiment in found)
    return Table(("experiment", "name", "runs", "disturbed", "not verified"), rows, words=2)


def quality_of_schedulers(found):
    """The same of each scheduler."""
    rows = [row for experiment in found for row in experiment.rows]
    return Table(("scheduler", "runs", "disturbed", "not verified"), tuple(
        (names.scheduler(name), *(str(sum(getattr(row, field) for row in rows if row.scheduler == name))
                                  for field in ("runs", "disturbed", "unverified")))
        for name in names.schedulers(row.scheduler for row in rows)))


def flattened(value, prefix=""):
    """(name, text) of everything in nested JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flattened(inner, f"{prefix}{' · ' if prefix else ''}{key}")
    elif isinstance(value, list) and any(isinstance(inner, (dict, list)) for inner in value):
        for place, inner in enumerate(value, 1):
            yield from flattened(inner, f"{prefix} {place}")
    elif isinstance(value, list):
        yield prefix, ", ".join(_plain(inner) for inner in value) or "none"
    else:
        yield prefix, _plain(value)


def _plain(value):
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
