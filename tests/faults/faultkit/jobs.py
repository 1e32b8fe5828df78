"""MPI jobs that share the lab's nodes, one in each slot, a new one whenever one has ended."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import time

from labkit import launch

LAB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(launch.__file__))), "lab")
LENGTH_S = (2, 6)  # of a job, about
REPEAT_MAX = 200
TIMEOUT_S = 120
VERIFIED = re.compile(r"^NPB kernel=.* verified=yes", re.MULTILINE)
STATS = re.compile(r"^cosched: job (\S+) .* carrier (\w+)", re.MULTILINE)


@dataclasses.dataclass(eq=False)
class Job:
    family: str
    path: str  # its output; its report beside it
    process: subprocess.Popen
    repeat: int
    started_s: float
    ended_s: float = 0.0
    job_id: str = ""
    verified: bool = False
    hung: bool = False    # in MPI_Finalize, after it had verified
    carried: bool = False  # coscheduled: all ranks had a scheduler
    verdict: str = ""     # why it did not verify
    kinds: set = dataclasses.field(default_factory=set)  # of faults that it has lived through

    def judge(self):
        self.ended_s = time.monotonic()
        text = _read(self.path)
        stats = STATS.search(text)
        if stats:
            self.job_id, self.carried = stats[1], stats[2] != "off"
        try:
            report = json.loads(_read(self.path + ".json"))
        except ValueError:
            report = {"exit_status": self.process.returncode, "hung_in_finalize": 0, "timed_out": False}
        self.hung = report["hung_in_finalize"] > 0
        self.verified = report["exit_status"] == 0 and bool(VERIFIED.search(text))
        if not self.verified:
            self.verdict = ("not done in time" if report["timed_out"] else
                            f"status {report['exit_status']}") + f" ({self.family}):\n{text[-1500:]}"


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Jobs:
    def __init__(self, lab_name, build, families, folder, rng):
        self.lab_name = lab_name
        self.build = build
        self.folder = folder
        self.rng = rng
        # Three slots, so that two jobs share the nodes while the third starts or ends.
        self.slots = [families[index % len(families)] for index in range(3)]
        self.pace_s = dict.fromkeys(families, 1.0)  # of a repetition, as the last job of the MPI had it
        self.running = {}  # slot, or a number of its own for one more: Job
        self.ended = []
        self.started = 0
        self.draining = True
        self.kind = None  # of the fault that is in force

    def keep(self):
        """Takes note of jobs that have ended, and starts new ones in their place."""
        for slot, job in list(self.running.items()):
            if job.process.poll() is not None:
                job.judge()
                if job.repeat > 1:  # one repetition is mostly start and end
                    self.pace_s[job.family] = (job.ended_s - job.started_s) / job.repeat
                self.ended.append(self.running.pop(slot))
        if not self.draining:
            for slot, family in enumerate(self.slots):
                if slot not in self.running:
                    self.running[slot] = self._start(family)
        if self.kind:
            for job in self.running.values():
                job.kinds.add(self.kind)

    def start_extra(self):
        """A short job beside those in the slots."""
        self.running[f"extra {self.started}"] = self._start(self.rng.choice(self.slots), length_s=0)

    def _start(self, family, length_s=None):
        self.started += 1
        path = os.path.join(self.folder, f"job{self.started}")
        program = os.path.join(self.build, "bench", "npb", family, "bin", "cg")
        if length_s is None:
            length_s = self.rng.uniform(*LENGTH_S)
        repeat = min(max(round(length_s / self.pace_s[family]), 1), REPEAT_MAX)
        with open(path, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, LAB, "--name", self.lab_name, "mpiexec", "--mpi", family, "-n", "2",
                 "--preload", "--env", "COSCHED_STATS=1", "--done-pattern", "verified=",
                 "--timeout", str(TIMEOUT_S), "--report", path + ".json",
                 program, "S", "--repeat", str(repeat)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        return Job(family, path, process, repeat, time.monotonic())

    def alive(self):
        return list(self.running.values())

    def take_ended(self):
        ended, self.ended = self.ended, []
        return ended

    def stop(self):
        """Ends what still runs, and waits for it: the lab's mpiexec cleans up behind itself."""
        for job in self.running.values():
            job.process.terminate()
        for job in self.running.values():
            job.process.wait()
        self.running = {}
