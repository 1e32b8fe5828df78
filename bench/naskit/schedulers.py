"""Ways to run several jobs, by name. No system call but a look at whether a script is there."""

import dataclasses
import os

from . import NasError, times


GANG = "gang"  # the policy whose time-slice is its slot, [gang] slot, and whose GMET a third of that
TIMES = ("slice", "gmet")
# The times that a policy of classd heeds; one that is not here heeds both.
HEEDED = {GANG: ("slice",), "dcs": ("slice",), "uncoordinated": ()}


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
    settings: tuple = ()  # (SECTION.KEY, value) of cosched.ini, beside the session's
    script: str = ""  # path of a plugged-in scheduler

    @property
    def heeds(self):
        """Which of TIMES mean something to it; a script is told the time-slice."""
        if self.script:
            return ("slice",)
        return HEEDED.get(self.policy, TIMES) if self.cosched else ()

    def configured(self, settings):
        """With the policy that {SECTION.KEY: value} of the session gives it where it has none of its own."""
        if not self.cosched or self.policy:
            return self
        return dataclasses.replace(self, policy=settings.get("scheduler.policy", ""))


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
        "time-slice (policy gang's slot), cosched+SECTION.KEY=VALUE for another setting of cosched.ini, which may be repeated, or a "
        "path with a / for a script (see bench/naskit/README.md)")

# What has a way of its own to be said, and how.
OWN_WAYS = {"scheduler.policy": ":POLICY", "scheduler.time_slice": "@TIME", "gang.slot": "@TIME", "scheduler.gmet": "--gmet"}


def parse(text):
    """NAME, cosched[:POLICY][@TIME][+SECTION.KEY=VALUE]..., or the path of a script, which must have a slash."""
    head, *settings = text.split("+")
    if "/" in head:
        return _script(text)
    rest, at, time_slice = head.partition("@")
    name, colon, policy = rest.partition(":")
    if name not in TABLE:
        raise NasError(f"scheduler {text!r}: unknown; must be {HELP}")
    scheduler = TABLE[name]
    if (at or colon or settings) and not scheduler.cosched:
        raise NasError(f"scheduler {text!r}: only cosched has policies, time-slices and settings")
    if colon and not policy:
        raise NasError(f"scheduler {text!r}: name a policy after the colon")
    return dataclasses.replace(scheduler, name=text, policy=policy,
                               time_slice_s=times.seconds(time_slice) if at else 0.0,
                               settings=tuple(_setting(text, one) for one in settings))


def _setting(text, one):
    key, equals, value = (part.strip() for part in one.partition("="))
    section, dot, name = key.partition(".")
    if not (section and dot and name and equals and value):
        raise NasError(f"scheduler {text!r}: {one!r} must be SECTION.KEY=VALUE")
    if key in OWN_WAYS:
        raise NasError(f"scheduler {text!r}: say {OWN_WAYS[key]} in place of {key}")
    if "/" in one:
        raise NasError(f"scheduler {text!r}: a value with a / must be said by --set")
    return key, value


def given(texts):
    """{SECTION.KEY: value} of --set options."""
    return {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in texts)}


def _script(text):
    path = os.path.abspath(text)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise NasError(f"scheduler {text!r}: is no executable file (chmod +x?)")
    name = os.path.splitext(os.path.basename(path))[0]
    if name in TABLE or name.startswith("cosched"):
        raise NasError(f"scheduler {text!r}: {name} is a built-in one: name the file otherwise")
    return Scheduler(name, script=path)


def parse_list(text):
    """A comma-separated list, each once."""
    found = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        scheduler = parse(word)
        if found.setdefault(scheduler.name, scheduler).script != scheduler.script:
            raise NasError(f"scheduler {word!r}: another script of that name, {scheduler.name}, is there: name the file otherwise")
    if not found:
        raise NasError("--schedulers: name at least one")
    return found
