"""The units of a session in the order in which they run: pure, and the same for the same seed."""

import dataclasses
import random

from naskit import plan

from . import variants, workloads
from .workloads import USERS

ALONE = "alone"  # of the mixed workload: one program after the other, the paper's batch
SETUP_S = 4.5  # of a unit: daemons, calibration, launching


@dataclasses.dataclass(frozen=True)
class Unit(plan.Described):
    """One run of a workload under one variant. `scheduler` is the variant's name, `workload` says what competitors are,
    `value` how many there are on each node (None: mixed)."""

    experiment: str  # of workloads.WORKLOADS
    workload: str
    value: int
    mpi: str
    scheduler: str
    repetition: int
    submissions: tuple
    limit: int = 0  # 1: one program after the other


def is_alone(scheduler, value):
    """Whether a run under that variant, with so many competitors, is what others are compared with."""
    return scheduler == ALONE or (value == 0 and scheduler == variants.BASE)


def _competing(name, asked, mpi, repetition):
    # What is ideal is learnt from the base alone.
    for variant in dict.fromkeys((variants.BASE, *([] if asked.quick else asked.variants))):
        yield Unit(name, "", 0, mpi, variant, repetition, workloads.with_competitors(name, USERS, 0))
    for variant in asked.variants:
        for kind in asked.kinds:
            for count in asked.competitors:
                yield Unit(name, kind, count, mpi, variant, repetition,
                           workloads.with_competitors(name, kind, count))


def _mixed(asked, mpi, repetition):
    submissions = workloads.mixed(asked.nodes, asked.sequential)
    yield Unit("mixed", "", None, mpi, ALONE, repetition, submissions, limit=1)
    for variant in asked.variants:
        yield Unit("mixed", "", None, mpi, variant, repetition, submissions)


def build(asked):
    """All units: repetition by repetition, and within one in an order that the seed decides. `asked` has figures,
    mpi, variants, competitors, kinds, sequential, nodes, runs, seed and quick."""
    rng = random.Random(asked.seed)
    found = []
    for repetition in range(1, asked.runs + 1):
        units = []
        for mpi in asked.mpi:
            for name in workloads.needed(asked.figures):
                units += (_mixed(asked, mpi, repetition) if name == "mixed"
                          else _competing(name, asked, mpi, repetition))
        rng.shuffle(units)
        found += units
    return found


def _alone_s(job, scale):
    if job.is_hog:
        return 0.0
    known = workloads.PROGRAMS.get(job.name)
    return (known.nominal_s if known else workloads.SEQUENTIAL_S[job.name]) * scale


def nominal_s(unit, scale):
    """A guess of how long it takes. Without coordination a job of two nodes gets on only while it has both."""
    if unit.experiment == "mixed":
        by_name = {job.name: _alone_s(job, scale) for job in unit.jobs}
        return SETUP_S + sum(by_name.values()) * (1.5 if unit.scheduler == variants.BASE else 1.0)
    parties = 1 + (unit.value if unit.workload == workloads.JOBS else bool(unit.value))
    worse = parties if unit.scheduler == variants.BASE else 1
    return (SETUP_S + max(submission.arrival_s for submission in unit.submissions)
            + parties * worse * sum(_alone_s(job, scale) for job in unit.jobs))
