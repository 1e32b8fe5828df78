"""Which figures an experiment has, from its data. Nothing to see, no figure."""

import dataclasses
import re

from . import compare, experiments, names, numbers, sentences, tables
from .blocks import Figure
from .draw import shapes

SMALL_MATRIX = 16  # more kernels than that cannot be read


def of(experiment, kind, facts):
    """Figures of the experiment, in order."""
    makers = {"bars": _bars, "lines": _lines, "matrix": _matrix, "table": lambda *_: None}
    found = [makers[kind.shape](experiment, kind)]
    if kind.gains:
        found.append(_gains(experiment, kind, facts))
    return [figure for figure in found if figure]


def title_of(kind, over=""):
    """Of the measure; `over`: of its ratio to that scheduler's."""
    name, unit = names.measure(kind.measure)
    if over:
        return f"{name[0].upper()}{name[1:]} ÷ {names.scheduler(over)}"
    return f"{name[0].upper()}{name[1:]}{', ' + {'s': 'seconds'}.get(unit, unit) if unit else ''}"


def _point(scheduler, x, statistic):
    low, high = statistic.bootstrap or (None, None)
    return shapes.Point(scheduler, x, statistic.median, low, high)


def _alt(text, seen):
    return f"{text} {' '.join(seen)}"


def _bars(experiment, kind):
    cases = experiments.cases(experiment)
    panels = []
    for mpi in names.mpis(row.mpi for row in experiment.rows):
        points = tuple(_point(row.scheduler, cases.index((row.workload, row.value)), row.measures[kind.measure])
                       for row in experiments.shared(experiment) if row.mpi == mpi and row.measures.get(kind.measure))
        if points:
            labels = tuple(_category(experiment, case) for case in cases)
            panels.append(shapes.Panel(names.mpi(mpi), points, labels))
    if not panels:
        return None
    title, ideal = title_of(kind), None
    if kind.measure.endswith("stretch"):
        title, ideal = f"{title} (1 is a perfect share)", 1.0
    return Figure(experiment.name, shapes.Bars(tuple(panels), title, ideal),
                  _alt(f"Bars: {title.lower()} of each case and scheduler, with 90 % intervals.",
                       _medians(experiment, kind)), tables.of_measure(experiment, kind.measure))


def _category(experiment, case):
    """The case; for what the parameter means nothing to, the scheduler."""
    rows = [row for row in experiments.shared(experiment) if (row.workload, row.value) == case]
    if all(experiments.is_fixed(experiment, row) for row in rows) and len({row.scheduler for row in rows}) == 1 \
            and any(row.value is not None for row in experiment.rows):
        return names.scheduler(rows[0].scheduler)
    return experiments.case_label(experiment, case)


def _medians(experiment, kind):
    """One clause for each bar or point, for those who cannot see it; the first few."""
    said = [f"{experiments.case_label(experiment, (row.workload, row.value))}, {names.mpi(row.mpi)}, "
            f"{names.scheduler(row.scheduler)}: {numbers.plain(found.median)}."
            for row in experiments.shared(experiment) if (found := experiments.compared(experiment, kind, row))]
    return said[:8] + (["The table below has the others."] if len(said) > 8 else [])


def _lines(experiment, kind):
    def told(row):
        return experiments.compared(experiment, kind, row)
    numeric = [row for row in experiment.rows if isinstance(row.value, (int, float)) and told(row)]
    if not numeric:
        return _bars(experiment, kind)
    workloads = list(dict.fromkeys(row.workload for row in sorted(numeric, key=lambda row: row.workload)))
    panels = []
    for mpi in names.mpis(row.mpi for row in numeric):
        for workload in workloads if len(workloads) > 1 else [None]:
            points = tuple(_point(row.scheduler, row.value, told(row)) for row in numeric
                           if row.mpi == mpi and workload in (None, row.workload))
            levels = tuple(_point(row.scheduler, None, told(row))
                           for row in experiment.rows if experiments.is_fixed(experiment, row) and row.mpi == mpi
                           and workload in (None, row.workload) and told(row))
            title = names.mpi(mpi) + (f", {names.workload(workload)}" if workload else "")
            if points:
                panels.append(shapes.Panel(title, points, scale=workload or "", levels=levels))
    parameter, paired = experiment.parameter, experiments.is_paired(experiment, kind)
    label = f"{parameter.label}{', ' + parameter.unit if parameter.unit else ''}" if parameter else "parameter"
    title = title_of(kind, experiment.baseline if paired else "")
    return Figure(experiment.name, shapes.Lines(tuple(panels), title, label),
                  _alt(f"Lines: {title.lower()} against {label}, with 90 % intervals.", _medians(experiment, kind)),
                  tables.of_ratios(experiment, kind) if paired else tables.of_measure(experiment, kind.measure))


def _gains(experiment, kind, facts):
    baseline = experiment.baseline
    rows = []
    for case in experiments.cases(experiment):
        factor = sentences.paper_factor(facts, case, kind.ratio)
        for mpi in names.mpis(row.mpi for row in experiment.rows):
            points = []
            for row in experiment.rows:
                comparison = compare.compare(row.ratios.get(kind.ratio))
                if (row.workload, row.value, row.mpi) == (*case, mpi) and row.scheduler != baseline \
                        and comparison.kind != "missing":
                    points.append(shapes.Point(row.scheduler, 0, comparison.factor, comparison.low, comparison.high))
            if points:
                label = experiments.case_label(experiment, case)
                several = len(names.mpis(row.mpi for row in experiment.rows)) > 1
                rows.append(shapes.GainRow(f"{label} · {names.mpi(mpi)}" if several else label, tuple(points), factor))
    best = (facts or {}).get("best_gain")
    if rows and best and best["measure"] == kind.ratio:
        rows.append(shapes.GainRow("the paper, at best", (), compare.from_less_pct(best["less_pct"])))
    if not rows or baseline is None:
        return None
    what = names.measure(kind.ratio)[0] if kind.faster == "shorter" else ""
    title = f"{what and f'{what[0].upper()}{what[1:]}: how' or 'How'} many times {kind.faster} than {names.scheduler(baseline)}"
    said = [f"{row.label}, {names.scheduler(point.scheduler)}: {numbers.factors(point.y)[0]} times."
            for row in rows for point in row.points][:8]
    return Figure(f"{experiment.name}-gain",
                  shapes.Gains(tuple(rows), title,
                               f"times {kind.faster}; 1 is no difference, left of it {kind.slower}"),
                  _alt(f"Points with 90 % intervals: {title.lower()}.", said),
                  tables.of_ratios(experiment, kind))


def kernel(job):
    """cg of cg.A.2*5."""
    return re.split(r"[.*]", job, maxsplit=1)[0]


def labels_of(jobs):
    """{name: its kernel}, or the whole name where several have that kernel."""
    found = [kernel(job) for job in jobs]
    return {job: name if found.count(name) == 1 else job for job, name in zip(jobs, found)}


def pair_cells(experiment, mpi, scheduler, measure):
    """{(job, the job beside it): median}, by name, of workloads of two jobs."""
    cells = {}
    for job in experiment.jobs:
        pair = job.workload.split()
        if (job.mpi, job.scheduler) == (mpi, scheduler) and len(pair) == 2 and job.job in pair and job.measures.get(measure):
            cells[job.job, pair[pair.index(job.job) - 1]] = job.measures[measure].median
    return cells


def _matrix(experiment, kind):
    panels, measure = [], experiments.pair_measure(experiment)
    for mpi in names.mpis(job.mpi for job in experiment.jobs):
        for scheduler in names.schedulers(job.scheduler for job in experiment.jobs):
            cells = pair_cells(experiment, mpi, scheduler, measure)
            if cells and scheduler not in ("dedicated", "dedicated-cosched"):
                panels.append(shapes.MatrixPanel(f"{names.mpi(mpi)}, {names.scheduler(scheduler)}", scheduler, cells))
    jobs = sorted({job for panel in panels for cell in panel.cells for job in cell})
    if not panels or len(jobs) > SMALL_MATRIX:
        return _bars(experiment, kind)
    label = labels_of(jobs)
    labels = [label[job] for job in jobs]
    panels = [dataclasses.replace(panel, cells={(label[job], label[other]): value for (job, other), value in panel.cells.items()})
              for panel in panels]
    title = f"{names.measure(measure)[0].capitalize()} of the row's program beside the column's"
    said = [sentences.pairs(experiment, mpi) for mpi in names.mpis(job.mpi for job in experiment.jobs)]
    return Figure(experiment.name, shapes.Matrix(tuple(panels), tuple(labels), title),
                  _alt(f"Matrix: {title.lower()}.", [sentence for sentence in said if sentence]),
                  tables.of_jobs(experiment))
