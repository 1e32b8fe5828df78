"""The units of a session in the order in which they run: pure, and the same for the same seed."""

import dataclasses
import itertools
import random

from . import NasError, experiments, schedulers, times, workload, workload_file

FORMAT = 1

# Rough seconds of one repetition in the lab: only how much is left is reckoned with them.
NOMINAL_S = {"bt.W": 0.6, "bt.A": 15, "cg.W": 0.2, "cg.A": 0.6, "cg.B": 25, "ep.W": 0.3, "ep.A": 1.9,
             "ft.W": 0.1, "ft.A": 0.7, "is.A": 0.2, "lu.W": 1.0, "lu.A": 6, "lu.B": 25, "mg.A": 0.6,
             "mg.B": 3, "sp.W": 2.2, "sp.A": 15}
LAUNCH_S = 0.4
SETUP_S = 1.5  # of a unit, with its calibration
SLOWDOWN = {"dedicated": 1.0, "dedicated-cosched": 1.0, "fcfs": 1.1, "uncoordinated": 2.2}
SLOWDOWN_OF_OTHERS = 1.3


class Described:
    """What follows from what a unit runs: `submissions` with at most `limit` of them at once, in an experiment."""

    @property
    def jobs(self):
        return tuple(submission.job for submission in self.submissions)

    @property
    def key(self):
        """What its repetitions have in common."""
        return self.experiment, self.workload, self.value, self.mpi, self.scheduler

    @property
    def settings(self):
        """(SECTION.KEY, value) of cosched.ini, beside those that have a name of their own."""
        return ()

    @property
    def together(self):
        """Whether all jobs start at once."""
        return not self.limit and not any(s.arrival_s for s in self.submissions)


@dataclasses.dataclass(frozen=True)
class Unit(Described):
    """One run of a workload, or of one job alone, under one scheduler."""

    experiment: str
    workload: str
    value: float  # of the experiment's parameter; None where it has none
    mpi: str
    scheduler: str
    repetition: int
    submissions: tuple
    time_slice_s: float  # of policy gang its slot
    gmet_s: float
    limit: int  # degree of multiprogramming beyond which jobs wait; 0: nobody waits
    yields: bool  # jobs with more ranks than CPUs give way while they wait

    @property
    def settings(self):
        return experiments.settings(self.experiment, self.value)

    def to_json(self):
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["submissions"] = [[str(s.job), s.arrival_s] for s in self.submissions]
        return plain

    @staticmethod
    def from_json(plain):
        submissions = tuple(workload_file.Submission(workload.parse_job(job), arrival_s)
                            for job, arrival_s in plain["submissions"])
        return Unit(**{**plain, "submissions": submissions})


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user asks of one experiment."""

    experiment: object
    workloads: tuple
    schedulers: tuple
    runs: int
    time_slice_s: float
    gmet_s: float
    gmet_asked: bool = False  # by the user: it is taken as it is
    slot_s: float = None  # of policy gang, where it is another than the time-slice


@dataclasses.dataclass(frozen=True)
class _Case:
    """A workload of an experiment with one value of its parameter."""

    workload: str
    value: float
    submissions: object  # by repetition
    yields: bool


def _chosen_sets(experiment, file):
    """(name, set, value) of each list of jobs that the experiment takes from the file."""
    parameter = experiment.parameter
    if parameter and parameter.chooses_set:
        missing = [str(value) for value in parameter.values if str(value) not in file.sets]
        if missing:
            raise NasError(f"workload {file.name}: {experiment.name} needs `jobs {missing[0]} = ...`")
        return [(file.name, str(value), value) for value in parameter.values]
    if experiment.every_set:
        return [(f"{file.name} {label}".strip(), label, None) for label in file.sets]
    _check_plain(experiment, file)
    return [(file.name, "", None)]


def _check_plain(experiment, file):
    if "" not in file.sets:
        raise NasError(f"workload {file.name}: {experiment.name} needs a plain `jobs = ...`")


def _pairs(file, seed, scale):
    jobs = list(dict.fromkeys(submission.job for submission in file.submissions("", seed, scale)))
    for pair in itertools.combinations_with_replacement(jobs, 2):
        if all(job.is_hog for job in pair):
            continue  # never ends
        both = tuple(workload_file.Submission(job) for job in pair)
        yield _Case(workload.mix_name(pair), None, lambda _, both=both: both, file.yields)


def _cases(request, seed, scale):
    experiment = request.experiment
    for file in request.workloads:
        if experiment.pairs:
            _check_plain(experiment, file)
            yield from _pairs(file, seed, scale)
            continue
        for name, label, value in _chosen_sets(experiment, file):
            yield _Case(name, value, lambda repetition, file=file, label=label: file.submissions(
                label, f"{seed}/{repetition}", scale), file.yields)


def _values(experiment, scheduler, case):
    """The parameter's values to run the case with."""
    parameter = experiment.parameter
    if parameter is None or parameter.chooses_set:
        return [case.value]
    kind = scheduler.name.partition("@")[0]
    return [None] if kind in experiment.fixed or not _means(parameter, scheduler) else parameter.values


def _means(parameter, scheduler):
    return parameter.limits or (scheduler.cosched and parameter.name in scheduler.heeds)


def _settings(request, scheduler, value):
    """(time-slice, GMET, limit)."""
    parameter = request.experiment.parameter
    name = parameter.name if parameter and value is not None else None
    if name == "slice" and scheduler.time_slice_s:
        raise NasError(f"scheduler {scheduler.name}: experiment {request.experiment.name} varies the time-slice "
                       "itself; leave out what follows the @")
    is_gang = scheduler.policy == schedulers.GANG
    usual_s = request.slot_s if is_gang and request.slot_s else request.time_slice_s
    slice_s = value if name == "slice" else scheduler.time_slice_s or usual_s
    gmet_s = slice_s / 3 if is_gang else value if name == "gmet" else request.gmet_s
    if gmet_s > slice_s and (name == "gmet" or request.gmet_asked and "gmet" in scheduler.heeds):
        what = f"experiment {request.experiment.name}" if name == "gmet" else "--gmet"
        raise NasError(f"{what}: a GMET of {times.text(gmet_s)} is longer than the time-slice, {times.text(slice_s)}, of "
                       f"{scheduler.name}: no request could ever be granted; ask for a longer time-slice"
                       + ("" if name == "gmet" else " or a shorter GMET"))
    limit = scheduler.limit or (value if name == "degree" and parameter.limits else 0)
    return slice_s, min(gmet_s, slice_s), limit


def _shared(request, case, mpi, repetition):
    submissions = case.submissions(repetition)
    for scheduler in request.schedulers:
        if scheduler.alone or mpi not in scheduler.mpis:
            continue
        for value in _values(request.experiment, scheduler, case):
            slice_s, gmet_s, limit = _settings(request, scheduler, value)
            yield Unit(request.experiment.name, case.workload, value, mpi, scheduler.name, repetition,
                       submissions, slice_s, gmet_s, limit, case.yields)


def _alone(request, cases, mpi, repetition):
    yields = {}
    for case in cases:
        for job in workload.distinct([[s.job for s in case.submissions(repetition)]]):
            yields[job] = case.yields or yields.get(job, False)
    for scheduler in request.schedulers:
        if scheduler.alone and mpi in scheduler.mpis:
            slice_s, gmet_s, _ = _settings(request, scheduler, None)
            for job, gives_way in yields.items():
                yield Unit(request.experiment.name, str(job), None, mpi, scheduler.name, repetition,
                           (workload_file.Submission(job),), slice_s, gmet_s, 0, gives_way)


def build(requests, mpis, seed, scale):
    """All units: experiment by experiment, repetition by repetition, and within a repetition in an
    order that the seed decides, so that no scheduler always goes first."""
    rng = random.Random(seed)
    plan = []
    for request in requests:
        cases = list(_cases(request, seed, scale))
        for repetition in range(1, request.runs + 1):
            units = []
            for mpi in mpis:
                units += _alone(request, cases, mpi, repetition)
                for case in cases:
                    units += _shared(request, case, mpi, repetition)
            units = list(dict.fromkeys(units))  # workloads that share a job share its pairs
            rng.shuffle(units)
            plan += units
    if not plan:
        raise NasError("nothing to do: no chosen scheduler exists for the chosen MPI")
    return plan


def places_of(texts, units):
    """The places of what texts like `slice` or `slice:2` name, an experiment and a repetition."""
    return sorted({place for text in texts for place in _places_of(text, units)})


def _places_of(text, units):
    name, colon, number = text.partition(":")
    found = [place for place, unit in enumerate(units)
             if unit.experiment == name and (not colon or number == str(unit.repetition))]
    if not found:
        known = sorted({f"{unit.experiment}:{unit.repetition}" for unit in units})
        raise NasError(f"--anew {text}: the session has no such experiment or repetition; it has {', '.join(known)}")
    return found


def nominal_s(unit):
    """A guess of how long it takes."""
    jobs_s = sum(LAUNCH_S + job.repeat * NOMINAL_S.get(f"{job.kernel}.{job.size}", 5.0)
                 for job in unit.jobs if not job.is_hog)
    arrival_s = max(submission.arrival_s for submission in unit.submissions)
    hogs = any(job.is_hog for job in unit.jobs)
    slowdown = SLOWDOWN.get(unit.scheduler, SLOWDOWN_OF_OTHERS)
    return SETUP_S + max(arrival_s, jobs_s * slowdown * (1 + hogs))


def to_json(seed, units, options):
    return {"format": FORMAT, "seed": seed, "options": options,
            "units": [unit.to_json() for unit in units]}


def from_json(plain, path):
    if plain.get("format") != FORMAT:
        raise NasError(f"{path}: has format {plain.get('format')}, this program reads {FORMAT}")
    return [Unit.from_json(unit) for unit in plain["units"]]


def known_schedulers(units, text):
    """The schedulers that the units name; `text` is the user's list, for paths of scripts."""
    given = schedulers.parse_list(text) if text else {}
    return {name: given.get(name) or schedulers.parse(name)
            for name in dict.fromkeys(unit.scheduler for unit in units)}
