"""Workload files, bench/workloads/*.ini: which jobs, how many, and when they arrive. README.md says
what may stand in one. Reads files, and makes no other system call."""

import dataclasses
import os
import random
import re

from . import NasError, times, workload

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "workloads")
KEYS = ("title", "arrival", "order", "wait")
LINE = re.compile(r"(?P<job>\S+)(?:\s*\((?P<count>[1-9][0-9]*)\))?(?:\s+at\s+(?P<at>\S+))?")


@dataclasses.dataclass(frozen=True)
class Submission:
    """A job, and when it arrives, in seconds from the beginning."""

    job: workload.Job
    arrival_s: float = 0.0


@dataclasses.dataclass(frozen=True)
class Workload:
    """`sets` are lists of submissions by name; the one of a plain `jobs =` is named ""."""

    name: str
    sets: dict
    title: str = ""
    arrival: tuple = ("together", 0.0)  # or every, poisson, with seconds
    shuffled: bool = False
    yields: bool = False  # jobs with more ranks than CPUs give way while they wait

    def submissions(self, chosen="", seed="", scale=1.0):
        """The jobs in the order of their arrival. The same seed gives the same order and times."""
        rng = random.Random(f"{seed}/{self.name}/{chosen}")
        listed = list(self.sets[chosen])
        if self.shuffled:
            rng.shuffle(listed)
        kind, interval_s = self.arrival
        now_s, found = 0.0, []
        for given in listed:
            found.append(Submission(given.job.scaled(scale), scale * (given.arrival_s + now_s)))
            now_s += rng.expovariate(1 / interval_s) if kind == "poisson" else interval_s
        return tuple(sorted(found, key=lambda submission: submission.arrival_s))


def of_mix(text):
    """The workload of a mix that was given by hand: its jobs arrive together."""
    jobs = workload.parse_mix(text)
    return Workload(workload.mix_name(jobs), {"": [Submission(job) for job in jobs]})


def find(name):
    """The path of a workload by its name, or the path itself."""
    path = name if os.sep in name or name.endswith(".ini") else os.path.join(FOLDER, name + ".ini")
    if not os.path.isfile(path):
        known = sorted(file[:-4] for file in os.listdir(FOLDER) if file.endswith(".ini"))
        raise NasError(f"workload {name!r}: there is no {path}; known are {', '.join(known)}, or "
                       "give a file's path")
    return path


def read(name):
    path = find(name)
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), path)
    except UnicodeDecodeError as error:
        raise NasError(f"{path}: byte {error.start + 1} is not UTF-8; convert the file, e.g. with iconv") from None
    except OSError as error:
        raise NasError(f"{path}: {error.strerror}") from None


def parse(text, path):
    """Raises NasError with file and line."""
    found = Workload(os.path.splitext(os.path.basename(path))[0], {})
    current = None  # the set that indented lines belong to
    section = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].rstrip()
        if not line.strip():
            continue
        try:
            if line.strip() == "[workload]":
                section = True
            elif not section:
                raise NasError("expected [workload] first")
            elif line[0].isspace():
                if current is None:
                    raise NasError(f"{line.strip()!r} belongs to no `jobs =`; keys begin in the "
                                   "first column")
                found.sets[current] += _entry(line.strip())
            else:
                found, current = _key(found, line)
        except NasError as error:
            raise NasError(f"{path}:{number}: {error}") from None
    return _checked(found, path)


def _key(found, line):
    key, equals, value = (part.strip() for part in line.partition("="))
    if not equals:
        raise NasError(f"{line!r}: must be KEY = VALUE or, indented, a job")
    word, _, label = key.partition(" ")
    if word == "jobs":
        label = label.strip()
        if label in found.sets:
            raise NasError(f"{key!r} is here twice")
        found.sets[label] = [entry for part in _parts(value) for entry in _entry(part)]
        return found, label
    if key == "title":
        return dataclasses.replace(found, title=value), None
    if key == "arrival":
        return dataclasses.replace(found, arrival=_arrival(value)), None
    if key in ("order", "wait"):
        choices = {"order": ("given", "shuffled"), "wait": ("own", "yield")}[key]
        if value not in choices:
            raise NasError(f"{key} = {value}: must be {' or '.join(choices)}")
        field = {"order": "shuffled", "wait": "yields"}[key]
        return dataclasses.replace(found, **{field: value == choices[1]}), None
    raise NasError(f"unknown key {key!r}: must be jobs, {', '.join(KEYS)}")


def _parts(value):
    return [part.strip() for part in value.split(",") if part.strip()]


def _entry(text):
    """"cg.A.2*5 (2) at 10s" as submissions."""
    found = []
    for part in _parts(text):
        match = LINE.fullmatch(part)
        if not match:
            raise NasError(f"{part!r}: must be JOB, JOB (COUNT) or JOB (COUNT) at TIME")
        arrival_s = times.seconds(match["at"]) if match["at"] else 0.0
        found += [Submission(workload.parse_job(match["job"]), arrival_s)] * int(match["count"] or 1)
    return found


def _arrival(value):
    words = value.split()
    if words == ["together"]:
        return ("together", 0.0)
    if len(words) == 2 and words[0] in ("every", "poisson"):
        interval_s = times.seconds(words[1])
        if interval_s > 0:
            return (words[0], interval_s)
    raise NasError(f"arrival = {value}: must be together, every TIME or poisson MEAN-TIME")


def _checked(found, path):
    if not found.sets:
        raise NasError(f"{path}: has no `jobs =`")
    for label, submissions in found.sets.items():
        if all(submission.job.is_hog for submission in submissions):
            raise NasError(f"{path}: jobs{' ' + label if label else ''}: has no job that ends")
    return found
