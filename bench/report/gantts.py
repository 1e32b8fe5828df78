"""Which recorded runs are drawn: for the telling experiments one workload, with a chart for each scheduler, and what else it
takes to have each scheduler once."""

from . import experiments, names, numbers
from .blocks import Figure, Table
from .draw import shapes

PREFERRED = ("workloads", "quick", "dom", "mixed")
DEGREES = ("dom", "batch", "mpl")  # whose value is the degree
WORKLOADS = ("workload-2",)  # the one with most messages, where schedulers differ most


def choose(entries):
    """Lists of entries that are drawn together: one from PREFERRED, one of the batch, and as many more as have a scheduler
    that those before have not."""
    chosen = []
    for wanted in (PREFERRED, ("batch",)):
        for name in wanted:
            found = [entry for entry in entries if entry.experiment == name]
            if found:
                chosen.append(_group(found))
                break
    while missing := _missing(entries, chosen):
        chosen.append(_group([entry for entry in entries if entry.experiment == missing[0].experiment], missing))
    return chosen


def _missing(entries, chosen):
    """Entries of schedulers of which nothing is drawn yet, those of PREFERRED first."""
    drawn = {entry.scheduler for group in chosen for entry in group}
    found = [entry for entry in entries if entry.scheduler not in drawn]
    order = (*PREFERRED, *experiments.KINDS)
    return sorted(found, key=lambda entry: order.index(entry.experiment) if entry.experiment in order else len(order))


def rosters(entries):
    """An entry for each workload: its chart tells the jobs, and how many of each. Every pair has a name that says it, and
    what sweeps a parameter has the workloads of Table 2."""
    found = {}
    for entry in entries:
        if entry.experiment not in ("pairs", "gmet", "slice") and not entry.scheduler.startswith("dedicated"):
            found.setdefault((entry.experiment, entry.workload, entry.value), entry)
    return list(found.values())


def _group(entries, wanted=()):
    """Entries of one workload, value and MPI: those with most of the wanted, then of all schedulers."""
    groups, needed = {}, {entry.scheduler for entry in wanted}
    for entry in entries:
        groups.setdefault((entry.workload, entry.value, entry.mpi), {})[entry.scheduler] = entry

    def rank(key):
        workload, _, mpi = key
        return (-len(needed & set(groups[key])), -len(groups[key]), workload not in WORKLOADS, names.mpi_key(mpi), workload)
    # Of a queue the highest degree, which the sentences are about; else the simplest.
    by_value = sorted(groups, key=lambda key: experiments.value_key(key[1]), reverse=entries[0].experiment == "batch")
    best = groups[min(by_value, key=rank)]
    shared = {entry.scheduler: entry for entry in entries
              if entry.workload == next(iter(best.values())).workload
              and entry.mpi == next(iter(best.values())).mpi and entry.scheduler not in best}
    best = {**shared, **best}
    return [best[name] for name in names.schedulers(best)]


def figure(charts, place=1):
    """Figure of [(entry, model.Gantt)], or None; the `place`th of its experiment. A chart of nothing is not drawn."""
    charts = [(entry, chart) for entry, chart in charts if chart.jobs]
    if not charts:
        return None
    first = charts[0][0]
    panels = tuple(shapes.GanttPanel(names.scheduler(entry.scheduler) + _value(entry)
                                     + ("" if chart.spans else ", from start to end"), entry.scheduler, chart)
                   for entry, chart in charts)
    where = f"{names.workload(first.workload)}, {names.mpi(first.mpi)}"
    said = [f"{names.scheduler(entry.scheduler)}{_value(entry)}: {len(chart.jobs)} jobs, the last ends after {_end(chart):.0f} s."
            for entry, chart in charts if _end(chart) is not None]
    # The name becomes that of a file.
    name = first.experiment if first.experiment in experiments.KINDS else "run"
    return Figure(f"gantt-{name}{f'-{place}' if place > 1 else ''}", shapes.GanttChart(panels, f"One run, second by second: {where}"),
                  f"Chart of jobs against time, {where}. {' '.join(said)}", _table(charts))


def _value(entry):
    """", degree 5" of a chart of that; of a session that was cut short charts of several may stand together."""
    if entry.value is None:
        return ""
    return f", {'degree ' if entry.experiment in DEGREES else ''}{numbers.setting(entry.value)}"


def _end(chart):
    return max((job.end_s for job in chart.jobs if job.end_s is not None), default=None)


def _table(charts):
    def seconds(value):
        return "-" if value is None else f"{value:.1f}"
    return Table(("scheduler", "job", "arrived, s", "started, s", "ended, s"), tuple(
        (names.scheduler(entry.scheduler), job.job, seconds(job.arrival_s), seconds(job.start_s), seconds(job.end_s))
        for entry, chart in charts for job in chart.jobs), words=2)
