"""Which kernels there are, in which classes and on how many ranks; and lists of them as options. Pure, but for a look
at whether an MPI is there."""

import dataclasses
import shutil

from . import TrialError

KERNELS = ("is", "ep", "mg", "cg", "ft", "lu", "sp", "bt")  # the quick ones first
SQUARES = ("sp", "bt")
CLASSES = ("S", "W", "A", "B", "C")
FAMILIES = ("mpich", "openmpi")


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel in one class on so many ranks of one MPI; `way` is how it is started."""

    kernel: str
    size: str
    ranks: int
    mpi: str
    way: str = "plain"

    def __str__(self):
        return f"{self.kernel}.{self.size}.{self.ranks} {self.mpi} {self.way}"

    def record(self):
        return dataclasses.asdict(self)


def check_launchers(every):
    """Raises TrialError where the launcher of a case's MPI is missing."""
    for mpi in dict.fromkeys(case.mpi for case in every):
        if shutil.which(f"mpiexec.{mpi}") is None:
            raise TrialError(f"mpiexec.{mpi} is not there: install it, or say --mpi with the other")


def of_record(record):
    return Case(*(record[field.name] for field in dataclasses.fields(Case)))


def admissible(kernel, ranks):
    """Is it a process count of the specification? (RNR-94-007's codes: squares or powers of two; EP
    takes any, but is tried on the same as the others.)"""
    if kernel in SQUARES:
        return any(side * side == ranks for side in range(1, ranks + 1))
    return ranks & (ranks - 1) == 0


def words(text, known, what):
    """A list like "cg,lu" or "all", in the order of `known`."""
    wanted = known if text == "all" else text.split(",")
    for word in wanted:
        if word not in known:
            raise TrialError(f"{what} {word!r}: must be of {', '.join(known)}, or all")
    return [word for word in known if word in wanted]


def counts(text):
    """A list of rank counts: "1,2,4", or "1-16" for all counts from 1 to 16."""
    found = set()
    for word in text.split(","):
        first, dash, last = word.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(first) < 1:
            raise TrialError(f"ranks {word!r}: must be a number or a range like 1-16")
        found.update(range(int(first), int(last if dash else first) + 1))
    return sorted(found)


def make(kernels, sizes, ranks, mpis, way):
    """All admissible combinations, the small ones first."""
    return [Case(kernel, size, count, mpi, way) for size in sizes for kernel in kernels
            for count in ranks if admissible(kernel, count) for mpi in mpis]
