"""Ways to run several jobs, by name. No system call but a look at whether a script is there."""

import dataclasses
import os

from . import NasError, times


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """One that runs jobs alone gets each distinct job, else each workload."""

    name: str
    alone: bool = False
    cosched: bool = False  # daemons run, and the library is loaded
    policy: str = ""  # of the daemons; "" is the configured one
    limit: int = 0  # degree of multiprogramming beyond which jobs wait; 0: nobody waits
    mpi_arguments: dict = dataclasses.field(default_factory=dict)
    mpis: tuple = ("mpich", "openmpi")  # that have it
    time_slice_s: float = 0.0  # 0: the experiment's
    script: str = ""  # path of a plugged-in scheduler


TABLE = {scheduler.name: scheduler for scheduler in (
    Scheduler("dedicated", alone=True),
    Scheduler("uncoordinated"),
    Scheduler("cosched", cosched=True),
    Scheduler("fcfs", limit=1),
    # Open MPI's own remedy; MPICH has none.
    Scheduler("yield", mpis=("openmpi",),
              mpi_arguments={"openmpi": ["--mca", "mpi_yield_when_idle", "1"]}),
    Scheduler("dedicated-cosched", alone=True, cosched=True),  # what the library costs a job alone
)}

HELP = ("of " + ", ".join(TABLE) + "; cosched:POLICY for another policy of classd, cosched@TIME for another "
        "time-slice, or a path with a / for a script (see bench/naskit/README.md)")


def parse(text):
    """NAME, cosched[:POLICY][@TIME], or the path of a script, which must have a slash."""
    if "/" in text:
        return _script(text)
    rest, at, time_slice = text.partition("@")
    name, colon, policy = rest.partition(":")
    if name not in TABLE:
        raise NasError(f"scheduler {text!r}: unknown; must be {HELP}")
    scheduler = TABLE[name]
    if (at or colon) and not scheduler.cosched:
        raise NasError(f"scheduler {text!r}: only cosched has policies and time-slices")
    if colon and not policy:
        raise NasError(f"scheduler {text!r}: name a policy after the colon")
    return dataclasses.replace(scheduler, name=text, policy=policy,
                               time_slice_s=times.seconds(time_slice) if at else 0.0)


def _script(text):
    path = os.path.abspath(text)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise NasError(f"scheduler {text!r}: is no executable file (chmod +x?)")
    name = os.path.splitext(os.path.basename(path))[0]
    if name in TABLE:
        raise NasError(f"scheduler {text!r}: {name} is a built-in one: name the file otherwise")
    return Scheduler(name, script=path)


def parse_list(text):
    """A comma-separated list, each once."""
    found = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        scheduler = parse(word)
        found.setdefault(scheduler.name, scheduler)
    if not found:
        raise NasError("--schedulers: name at least one")
    return found
