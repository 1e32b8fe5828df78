"""What each experiment is: workloads, schedulers, the parameter that is varied, times. Data only.

Yoo & Jette, section 3, on eight nodes, and one of Franke, Moreira & Pattnaik; README.md says how each was scaled down.
"""

import dataclasses

from . import NasError

PAPER_WORKLOADS = ("workload-1", "workload-2", "workload-3")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """What `values` are of: "degree" is also the limit of the number of jobs that share, where
    `limits`; "set" chooses the list of jobs by the value."""

    name: str
    label: str
    unit: str
    values: tuple
    chooses_set: bool = False
    limits: bool = False

    def described(self):
        return {"name": self.name, "label": self.label, "unit": self.unit}


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    workloads: tuple  # names of files; () for what is given by hand
    schedulers: tuple
    runs: int
    time_slice_s: float = 1.0
    gmet_s: float = 1 / 3
    baseline: str = "uncoordinated"
    parameter: Parameter = None
    settings: tuple = ()  # (SECTION.KEY, value) of cosched.ini, of the runs with a value of the parameter
    fixed: tuple = ()  # schedulers that the parameter means nothing to: run once, without a value
    pairs: bool = False  # of the workload's jobs
    every_set: bool = False  # each list of jobs in the file is a workload
    is_asked_for: bool = False  # by name only: not part of "all"


DEGREE = "degree of multiprogramming"
COMPARED = ("dedicated", "uncoordinated", "cosched")

TABLE = {experiment.name: experiment for experiment in (
    Experiment("quick", "a first look: CG, which talks all the time, and EP, which never does",
               ("quick",), COMPARED, runs=2, gmet_s=0.25, is_asked_for=True),
    Experiment("workloads", "Figure 2: mean response time of three workloads", PAPER_WORKLOADS,
               COMPARED, runs=3),
    Experiment("dom", "Figure 3: mean response time by degree of multiprogramming", ("dom",),
               COMPARED, runs=3,
               parameter=Parameter("degree", DEGREE, "", (2, 3, 4, 5), chooses_set=True)),
    Experiment("batch", "Figure 4: average wait of 100 jobs, in order of arrival against "
               "coscheduled, by degree and time-slice", ("batch",),
               ("fcfs", "cosched@500ms", "cosched@1s"), runs=2, baseline="fcfs", gmet_s=2 / 15,
               parameter=Parameter("degree", DEGREE, "", (2, 5, 10), limits=True), fixed=("fcfs",)),
    # Aligned nodes switch at the same moments, and there is hardly a request that GMET could limit.
    Experiment("gmet", "Figure 5: mean response time by GMET, nodes' timers not aligned", PAPER_WORKLOADS,
               ("uncoordinated", "cosched"), runs=2,
               parameter=Parameter("gmet", "GMET", "s", (1 / 30, 2 / 30, 5 / 30, 10 / 30, 20 / 30)),
               settings=(("timer.align", "no"),), fixed=("uncoordinated",)),
    Experiment("slice", "Figure 6: mean response time by time-slice", PAPER_WORKLOADS,
               ("uncoordinated", "cosched"), runs=2, gmet_s=1 / 6,
               parameter=Parameter("slice", "time-slice", "s", (0.25, 0.5, 1.0, 1.5, 2.0)),
               fixed=("uncoordinated",)),
    Experiment("pairs", "each of the eight kernels beside each", ("pairs",), COMPARED, runs=2,
               pairs=True),
    Experiment("mixed", "parallel jobs beside CPU hogs", ("mixed",), (*COMPARED, "yield"), runs=3,
               every_set=True),
    Experiment("mpl", "Franke et al., Table 1: two, three and four instances of BT, LU and SP, gang-scheduled",
               ("mpl-bt", "mpl-lu", "mpl-sp"), ("dedicated-cosched", "cosched:gang"), runs=5,
               parameter=Parameter("degree", DEGREE, "", (2, 3, 4), chooses_set=True), is_asked_for=True),
)}

BY_HAND = Experiment("jobs", "mixes given by hand", (), COMPARED, runs=2, gmet_s=0.25)


def settings(name, value):
    """(SECTION.KEY, value) of what the experiment runs with that value of its parameter, now: a plan may be older."""
    return TABLE[name].settings if name in TABLE and value is not None else ()


def choose(names):
    """The experiments by name, each once; "all" is every one of the paper's and ours that asks what no other does."""
    wanted = []
    for name in names:
        if name == "all":
            wanted += [other for other, experiment in TABLE.items() if not experiment.is_asked_for]
        elif name in TABLE:
            wanted.append(name)
        else:
            raise NasError(f"experiment {name!r}: unknown; must be of {', '.join(TABLE)}, all")
    return [TABLE[name] for name in dict.fromkeys(wanted)]
