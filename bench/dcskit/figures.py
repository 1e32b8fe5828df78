"""The paper's figures as report's shapes, with the numbers of each as a table. No system call in here."""

from report import blocks, names
from report.draw import shapes

from . import plan, workloads

ALONE_COLOUR = "dedicated"  # report's name for what runs alone
PROGRAMS = {"sor": "SOR", "tar": "tar + gzip", "gs": "Ghostscript"}
KINDS = {workloads.USERS: "users' processes", workloads.JOBS: "jobs"}
COUNT_LABEL = "sequential competitors on each node"


def scheduler(variant):
    return ALONE_COLOUR if variant == plan.ALONE else variant


def chosen(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def mpis(rows):
    return names.mpis(row["mpi"] for row in rows)


def kinds(rows):
    """What competitors were, in the order of workloads."""
    found = {row["competitors"] for row in rows if row["count"]}
    return [kind for kind in KINDS if kind in found]


def _point(row, found, x):
    low, high = found["bootstrap"] or (None, None)
    return shapes.Point(scheduler(row["variant"]), x, found["median"], low, high)


def _of_kind(rows, kind):
    """A kind's rows, and those without competitors, which belong to every kind."""
    return [row for row in rows if not row["count"] or row["competitors"] == kind]


def _curve(rows, measure, title):
    points = tuple(_point(row, row["measures"][measure], row["count"]) for row in rows if row["measures"][measure])
    return shapes.Panel(title, points, (), measure)


def _curves(rows, measures, with_program):
    for mpi in mpis(rows):
        for program in dict.fromkeys(row["program"] for row in rows):
            of_program = chosen(rows, mpi=mpi, program=program)
            for kind in kinds(of_program) or [""]:
                for measure, label in measures:
                    name = f"{program}, {label}" if with_program else label
                    title = f"{names.mpi(mpi)}, {KINDS[kind]}: {name}" if kind else f"{names.mpi(mpi)}: {name}"
                    yield _curve(_of_kind(of_program, kind), measure, title)


def _bars(rows, mpi, measure, title):
    programs = [name for name in PROGRAMS if chosen(rows, mpi=mpi, program=name)]
    points = tuple(_point(row, row["measures"][measure], place) for place, name in enumerate(programs)
                   for row in chosen(rows, mpi=mpi, program=name) if row["measures"][measure])
    return shapes.Panel(f"{names.mpi(mpi)}: {title}", points, tuple(PROGRAMS[name] for name in programs), measure)


def shape(number, rows, title):
    """The shape of one figure, from the summary's rows of its workloads; None where nothing is known."""
    if number in (3, 4):
        panels = tuple(_curves(rows, (("slowdown", "response ÷ ideal"), ("cpu_ratio", "CPU time ÷ alone")), False))
        made = shapes.Lines(panels, title, COUNT_LABEL)
    elif number == 6:
        made = shapes.Lines(tuple(_curves(rows, (("fairness", "F"),), True)), title, COUNT_LABEL)
    elif number == 7:
        made = shapes.Bars(tuple(_bars(rows, mpi, measure, label) for mpi in mpis(rows) for measure, label in (
            ("response_s", "response time, s"), ("cpu_s", "CPU time, s"))), title)
    else:
        made = shapes.Bars(tuple(_bars(rows, mpi, "fairness", "F") for mpi in mpis(rows)), title, 1.0)
    return made if any(panel.points for panel in made.panels) else None


def rows_of(number, rows):
    return [row for row in rows if row["experiment"] in workloads.FIGURES[number]]


MEASURES = {3: ("response_s", "slowdown", "cpu_ratio", "coscheduled"), 6: ("fairness",),
            7: ("response_s", "slowdown", "cpu_s", "cpu_ratio"), 8: ("fairness",)}
MEASURES[4] = MEASURES[3]
HEADINGS = {"response_s": "response, s", "slowdown": "÷ ideal", "cpu_s": "CPU time, s",
            "cpu_ratio": "CPU time ÷ alone", "coscheduled": "coscheduled", "fairness": "F"}


def _number(found):
    if found is None:
        return "-"
    interval = "" if found["bootstrap"] is None else " ({:.3g}–{:.3g})".format(*found["bootstrap"])
    return f"{found['median']:.3g}{interval}"


def table(number, rows, paper):
    """The figure's numbers, with what the paper says of a variant in the last column."""
    said = {name: text for measure in ("cpu_ratio", "fairness") if measure in MEASURES[number]
            for name, text in paper.get(measure, {}).items()}
    body = tuple((row["program"], names.mpi(row["mpi"]),
                  f"{row['count']} {KINDS[row['competitors']]}" if row["count"] else "-",
                  names.scheduler(scheduler(row["variant"])),
                  *(_number(row["measures"][name]) for name in MEASURES[number]),
                  *([said.get(row["variant"], "") if row["program"] in ("latency", "barrier", "sor") else ""]
                    if said else []))
                 for row in rows)
    header = ("program", "MPI", "competitors", "variant", *(HEADINGS[name] for name in MEASURES[number]),
              *(["paper"] if said else []))
    return blocks.Table(header, body, words=4, trailing=1 if said else 0)
