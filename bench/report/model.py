"""What a results folder says, as objects; the data formats are those of doc/design/evaluation.md.
Everything here takes parsed JSON and touches no file. An absent figure is None."""

import dataclasses
import math

from . import ReportError

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Statistic:
    """Of `n` runs: `t` is Student's 90 % interval of the mean, `bootstrap` that of the median."""

    n: int
    median: float
    mean: float = None
    t: tuple = None
    bootstrap: tuple = None


@dataclasses.dataclass(frozen=True)
class Row:
    """What was measured of one workload under one scheduler."""

    workload: str
    value: object  # of the experiment's parameter: number, text or None
    mpi: str
    scheduler: str
    jobs: int  # of the workload; 0 where that is not said
    runs: int
    disturbed: int  # attempts, whether they count or not
    counted_disturbed: int  # of the runs; 0 where that is not said, as in older folders
    unverified: int  # jobs
    hung_in_finalize: int  # programs that had verified
    alone: bool  # a job that had the nodes to itself; `workload` is then its name
    time_slice_s: float
    gmet_s: float
    measures: dict  # name: Statistic or None
    ratios: dict
    ideals: dict  # what ratios would be if nothing was lost by sharing, where that is known


@dataclasses.dataclass(frozen=True)
class JobRow:
    """What was measured of the jobs of one name in a workload."""

    workload: str
    value: object
    mpi: str
    scheduler: str
    job: str
    measures: dict


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    label: str
    unit: str


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str  # may be empty
    parameter: Parameter
    baseline: str
    rows: tuple
    jobs: tuple


@dataclasses.dataclass(frozen=True)
class GanttEntry:
    """One recorded run; `file` is relative to the results folder."""

    experiment: str
    workload: str
    value: object
    mpi: str
    scheduler: str
    file: str


@dataclasses.dataclass(frozen=True)
class GanttJob:
    index: int
    job: str
    arrival_s: float
    start_s: float
    end_s: float


@dataclasses.dataclass(frozen=True)
class Gantt:
    nodes: int
    duration_s: float
    jobs: tuple
    spans: tuple  # (node, job index, from_s, to_s)


@dataclasses.dataclass(frozen=True)
class Results:
    complete: bool
    experiments: dict  # name: Experiment
    gantt: tuple  # of GanttEntry
    environment: dict  # or None
    remarks: dict  # name of an experiment: what its reader must know


def _fail(where, problem):
    raise ReportError(f"{where}: {problem}; was it written by bench/run_nas.sh?")


def _object(value, where):
    if not isinstance(value, dict):
        _fail(where, "must be an object")
    return value


def _list(value, where):
    if not isinstance(value, list):
        _fail(where, "must be a list")
    return value


def _text(source, key, where, absent=None):
    value = source.get(key)
    if value is None and absent is not None:
        return absent
    if not isinstance(value, str):
        _fail(f"{where}.{key}", "must be text")
    return value


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _number(source, key, where):
    value = source.get(key)
    if value is not None and not _is_number(value):
        _fail(f"{where}.{key}", "must be a number or null")
    return value


def _count(source, key, where):
    value = source.get(key)
    if value is None:
        return 0
    if not _is_number(value) or value < 0 or value != int(value):
        _fail(f"{where}.{key}", "must be a count")
    return int(value)


def _interval(source, key, where):
    value = source.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        _fail(f"{where}.{key}", "must be [low, high] or null")
    if value[0] is None or value[1] is None:
        return None
    if not all(map(_is_number, value)) or value[0] > value[1]:
        _fail(f"{where}.{key}", "must be [low, high] or null")
    return tuple(value)


def statistic(value, where):
    """A Statistic, or None for null and for one without a median."""
    if value is None:
        return None
    source = _object(value, where)
    median = _number(source, "median", where)
    if median is None:
        return None
    return Statistic(_count(source, "n", where), median, _number(source, "mean", where),
                     _interval(source, "t", where), _interval(source, "bootstrap", where))


def _statistics(source, key, where):
    found = _object(source.get(key) or {}, f"{where}.{key}")
    return {name: statistic(value, f"{where}.{key}.{name}") for name, value in found.items()}


def _value(source, where):
    value = source.get("value")
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    if value is None or isinstance(value, str) or _is_number(value):
        return value
    return _fail(f"{where}.value", "must be a number, text or null")


def _case(source, where):
    return {"workload": _text(source, "workload", where, absent=""), "value": _value(source, where),
            "mpi": _text(source, "mpi", where), "scheduler": _text(source, "scheduler", where)}


def _row(value, where):
    source = _object(value, where)
    alone = source.get("alone", str(source.get("scheduler")).startswith("dedicated"))
    return Row(**_case(source, where), alone=bool(alone),
               **{key: _number(source, key, where) for key in ("time_slice_s", "gmet_s")},
               **{key: _count(source, key, where) for key in ("jobs", "runs", "disturbed", "counted_disturbed", "unverified", "hung_in_finalize")},
               **{key: _statistics(source, key, where) for key in ("measures", "ratios", "ideals")})


def _job_row(value, where):
    source = _object(value, where)
    return JobRow(**_case(source, where), job=_text(source, "job", where),
                  measures=_statistics(source, "measures", where))


def _parameter(value, where):
    if value is None:
        return None
    source = _object(value, where)
    name = _text(source, "name", where)
    return Parameter(name, _text(source, "label", where, absent=name), _text(source, "unit", where, absent=""))


def _experiment(name, value):
    where = f"summary.json: {name}"
    source = _object(value, where)
    baseline = source.get("baseline")
    return Experiment(
        name, _text(source, "title", where, absent=""), _parameter(source.get("parameter"), f"{where}.parameter"),
        None if baseline is None else _text(source, "baseline", where),
        tuple(_row(row, f"{where}.rows[{place}]")
              for place, row in enumerate(_list(source.get("rows") or [], f"{where}.rows"))),
        tuple(_job_row(row, f"{where}.jobs[{place}]")
              for place, row in enumerate(_list(source.get("jobs") or [], f"{where}.jobs"))))


def _gantt_entry(value, where):
    source = _object(value, where)
    return GanttEntry(_text(source, "experiment", where), **_case(source, where),
                      file=_text(source, "file", where))


def results(summary, environment, remarks=None):
    """Results of the parsed summary.json, environment.json and remarks.json (the last two may be None)."""
    source = _object(summary, "summary.json")
    if source.get("format") != FORMAT:
        raise ReportError(f"summary.json: is of format {source.get('format')!r}; this report reads format {FORMAT}")
    experiments = _object(source.get("experiments") or {}, "summary.json: experiments")
    return Results(
        bool(source.get("complete")),
        {name: _experiment(name, value) for name, value in experiments.items()},
        tuple(_gantt_entry(entry, f"summary.json: gantt[{place}]")
              for place, entry in enumerate(_list(source.get("gantt") or [], "summary.json: gantt"))),
        None if environment is None else _object(environment, "environment.json"),
        {name: _text(remarks, name, "remarks.json") for name in _object(remarks or {}, "remarks.json")})


def _gantt_job(value, where):
    source = _object(value, where)
    return GanttJob(_count(source, "index", where), _text(source, "job", where),
                    *(_number(source, key, where) for key in ("arrival_s", "start_s", "end_s")))


def _span(value, where):
    source = _object(value, where)
    times = [_number(source, key, where) for key in ("from_s", "to_s")]
    if None in times:
        _fail(where, "has no from_s or to_s")
    return (_count(source, "node", where), _count(source, "job", where), *times)


def gantt(value, file):
    """A Gantt of a parsed gantt/*.json; `file` is its name in messages."""
    source = _object(value, file)
    jobs = tuple(_gantt_job(job, f"{file}: jobs[{place}]")
                 for place, job in enumerate(_list(source.get("jobs") or [], f"{file}: jobs")))
    spans = tuple(_span(span, f"{file}: spans[{place}]")
                  for place, span in enumerate(_list(source.get("spans") or [], f"{file}: spans")))
    return Gantt(max(1, _count(source, "nodes", file)), _number(source, "duration_s", file), jobs, spans)
