"""Jobs of a unit, and what sharing the nodes fairly gives each. No system call in here.

A node is shared by parties: each parallel job is one, and all processes of the sequential class together are one,
among whom the kernel shares their part evenly."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Job:
    """A program on all nodes or on one. A hog runs until the others have ended."""

    name: str
    node: int = None  # None: a process on each node
    number: int = 0  # tells jobs of one name apart
    in_class: bool = False  # its processes are of the sequential class
    is_hog: bool = False

    def __str__(self):
        place = "" if self.node is None else f"@{self.node}"
        return self.name + place + (f"#{self.number}" if self.number else "")

    def meets(self, other):
        return self.node is None or other.node is None or self.node == other.node


@dataclasses.dataclass(frozen=True)
class Submission:
    job: Job
    arrival_s: float = 0.0


@dataclasses.dataclass(frozen=True)
class Sharing:
    """What naskit's runner asks of a cluster."""

    nodes: int

    def whole_width(self, job):
        """CPUs that the job can use at once."""
        return self.nodes if job.node is None else 1

    def degree(self, job, jobs):
        """The N of equation 2 when `jobs` run: one over the job's due part of its nodes."""
        there = [other for other in jobs if job.meets(other)]
        of_class = sum(other.in_class for other in there)
        parties = len(there) - of_class + bool(of_class)
        return float(parties * (of_class if job.in_class else 1))

    def has_room(self, job, running, _limit):
        """Whether the job may start where one runs after the other."""
        return not any(job.meets(other) for other in running)
