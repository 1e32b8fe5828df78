"""The workloads of Sobalvarro et al., section 4.1.2: which jobs, how long. No system call in here; README.md says how
each differs from the paper's."""

import dataclasses

from naskit import NasError

from .jobs import Job, Submission

USERS, JOBS = "users", "jobs"  # what competitors are: processes of the sequential class, or jobs
WARM_UP_S = 1.0  # of competitors, before the parallel job comes
LAUNCH_S = 0.6  # of each competitor that is a job

TAR_LOOPS, GS_LOOPS = 14, 22  # 0.22 and 0.14 s each


@dataclasses.dataclass(frozen=True)
class Program:
    """A parallel program: `arguments(scale, spread_pct)` are those of some seconds at scale 1; `nominal_s` is about
    what it takes alone."""

    name: str
    nominal_s: float
    arguments: object


def _scaled(count, scale):
    return str(max(1, round(count * scale)))


PROGRAMS = {program.name: program for program in (
    Program("latency", 3.0, lambda scale, spread_pct: [_scaled(50000, scale)]),
    # 60000 steps are about the paper's 78 us on a machine of 2020.
    Program("barrier", 2.5, lambda scale, spread_pct: [_scaled(20000, scale), "60000", str(spread_pct)]),
    Program("sor", 3.0, lambda scale, spread_pct: ["128", _scaled(30, scale)]),
)}
SEQUENTIAL_S = {"tar": 3.0, "gs": 3.0}

# Which workloads a figure of the paper is made of.
FIGURES = {3: ("latency",), 4: ("barrier",), 6: ("latency", "barrier"), 7: ("mixed",), 8: ("mixed",)}
WORKLOADS = ("latency", "barrier", "mixed")


def needed(figures):
    """The workloads of some figures, in order."""
    wanted = {name for number in figures for name in FIGURES[number]}
    return [name for name in WORKLOADS if name in wanted]


def with_competitors(program, kind, count):
    """The program beside `count` competitors on each node, which run from before its start to after its end."""
    if kind == USERS:
        hogs = [Job("user", number=place, in_class=True, is_hog=True) for place in range(1, count + 1)]
        warm_up_s = WARM_UP_S if count else 0.0
    elif kind == JOBS:
        hogs = [Job("competitor", number=place, is_hog=True) for place in range(1, count + 1)]
        warm_up_s = (WARM_UP_S if count else 0.0) + LAUNCH_S * count
    else:
        raise NasError(f"competitors {kind!r}: must be {USERS} or {JOBS}")
    return (*(Submission(hog) for hog in hogs), Submission(Job(program), warm_up_s))


def mixed(nodes, sequential):
    """SOR, and on each node one of each sequential program, all started at once."""
    return (Submission(Job("sor")), *(Submission(Job(name, node=node, in_class=True))
                                      for name in sequential for node in range(nodes)))
