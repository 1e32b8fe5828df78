"""Jobs, mixes of jobs, and what sharing the nodes fairly would cost them. No system call in here."""

import dataclasses
import math
import re

from . import NasError

SPEC = re.compile(r"([a-z]+)\.([A-Z])\.([1-9][0-9]*)(?:\*([1-9][0-9]*))?")
HOG = re.compile(r"hog\.([1-9][0-9]*)")
SIZES = "SWABC"
KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
SQUARES = ("bt", "sp")


@dataclasses.dataclass(frozen=True)
class Job:
    """One job: cg.A.2*5 is CG, class A, 2 ranks, 5 times in succession. hog.2 is two processes, one
    on each of two nodes, that compute for as long as the others run."""

    kernel: str
    size: str
    ranks: int
    repeat: int = 1

    def __str__(self):
        times = f"*{self.repeat}" if self.repeat > 1 else ""
        return f"{self.kernel}.{self.size + '.' if self.size else ''}{self.ranks}{times}"

    @property
    def is_hog(self):
        return self.kernel == "hog"

    def scaled(self, factor):
        """The job `factor` times as long, as nearly as repeating allows."""
        if self.is_hog:
            return self
        return dataclasses.replace(self, repeat=max(1, round(self.repeat * factor)))


def parse_job(text):
    hog = HOG.fullmatch(text)
    if hog:
        return Job("hog", "", int(hog[1]))
    match = SPEC.fullmatch(text)
    if not match:
        raise NasError(f"job {text!r}: must be KERNEL.CLASS.RANKS or KERNEL.CLASS.RANKS*REPEAT, "
                       "e.g. cg.A.2*5, or hog.RANKS")
    kernel, size, ranks, repeat = match.groups()
    return Job(kernel, size, int(ranks), int(repeat or 1))


def refusal(job):
    """Why our kernels (and the official ones) would refuse the job, or None."""
    if job.is_hog:
        return None
    if job.kernel not in KERNELS:
        return f"there is no kernel {job.kernel}: must be {', '.join(KERNELS)}"
    if job.kernel in SQUARES and math.isqrt(job.ranks) ** 2 != job.ranks:
        return f"{job.kernel} takes a square number of ranks: 1, 4, 9, ..."
    if job.kernel not in (*SQUARES, "ep") and job.ranks & (job.ranks - 1):
        return f"{job.kernel} takes a power of two of ranks: 1, 2, 4, ..."
    return None


def parse_mix(text):
    """"cg.A.2*5 ep.A.2" as a tuple of jobs that are started together."""
    jobs = tuple(parse_job(word) for word in text.split())
    if all(job.is_hog for job in jobs):
        raise NasError("a mix has at least one job that ends")
    return jobs


def mix_name(jobs):
    return " ".join(map(str, jobs))


def distinct(mixes):
    """The different jobs of all mixes, in the order of their first mention, without hogs."""
    return list(dict.fromkeys(job for mix in mixes for job in mix if not job.is_hog))


@dataclasses.dataclass(frozen=True)
class Cluster:
    nodes: int
    cpus_per_node: int

    def width(self, job, node):
        """CPUs of the node that the job can use: its ranks there, at most all CPUs."""
        there = job.ranks // self.nodes + (node < job.ranks % self.nodes)
        return min(there, self.cpus_per_node)

    def whole_width(self, job):
        return sum(self.width(job, node) for node in range(self.nodes))

    def crowds_itself(self, job):
        """Whether some of its ranks share a CPU even when it is alone."""
        return job.ranks > self.nodes * self.cpus_per_node

    def degree(self, job, jobs):
        """Degree of multiprogramming that `job` meets when `jobs` run: demand for CPUs over CPUs, on
        the node of its where that is most; 1 where there is room for all."""
        demand = [sum(self.width(other, node) for other in jobs)
                  for node in range(self.nodes) if self.width(job, node)]
        return max(1.0, max(demand) / self.cpus_per_node)

    def has_room(self, job, running, degree):
        """Whether `job` may join those that run without any of its nodes having more than `degree`
        times the work of its CPUs."""
        return all(self.width(job, node) == 0 or
                   sum(self.width(other, node) for other in running) + self.width(job, node)
                   <= degree * self.cpus_per_node for node in range(self.nodes))


def fair_waits(cluster, jobs, alone_s, arrivals_s, limit):
    """How long jobs wait for their start under perfect sharing of at most `limit` at once: those that are there
    each run at 1/degree of their speed, and the next in order of arrival joins as soon as there is room."""
    queue, left, waits, now = list(range(len(jobs))), {}, [0.0] * len(jobs), 0.0
    while queue or left:
        while queue and arrivals_s[queue[0]] <= now and (
                not left or cluster.has_room(jobs[queue[0]], [jobs[i] for i in left], limit)):
            index = queue.pop(0)
            waits[index] = now - arrivals_s[index]
            left[index] = alone_s[index]
        degree = {index: cluster.degree(jobs[index], [jobs[i] for i in left]) for index in left}
        steps = [left[index] * degree[index] for index in left]
        if queue and arrivals_s[queue[0]] > now:
            steps.append(arrivals_s[queue[0]] - now)
        step = min(steps)
        now += step
        for index in list(left):
            left[index] -= step / degree[index]
            if left[index] <= 1e-9 * now:
                del left[index]
    return waits


def fair_response(cluster, jobs, dedicated_s):
    """Response times under perfect sharing (each job runs at 1/degree of its speed, and the degree
    falls when a job ends): what stretch 1.00 means for jobs of unlike length. A hog, whose dedicated
    time is infinite, never ends."""
    left = dict(enumerate(dedicated_s))
    response = [0.0] * len(jobs)
    now = 0.0
    while any(seconds != float("inf") for seconds in left.values()):
        active = [jobs[index] for index in left]
        degree = {index: cluster.degree(jobs[index], active) for index in left}
        step = min(left[index] * degree[index] for index in left)
        now += step
        for index in list(left):
            left[index] -= step / degree[index]
            if left[index] <= 1e-9 * now:
                response[index] = now
                del left[index]
    return response
