"""One unit: its jobs are started when they arrive and may run, and watched to their ends."""

import contextlib
import dataclasses
import functools
import json
import os
import selectors
import signal
import subprocess
import time

from labkit import processes

from . import NasError, output, signals

# Launchers that are loaded before the first job may start. One that is loaded later takes the CPU from the jobs
# that run, on one node only, for as long as a rank needs to start: a tenth of a short job.
LAUNCHERS_AHEAD = 128
LOADING_S = 60
END_S = 10


@dataclasses.dataclass
class _Running:
    """A job of the unit, or the launcher that will start it."""

    index: int
    popen: list  # one process; of a hog one per rank
    ahead_cpu_s: float = 0.0  # that a hog had used before it could start
    start_s: float = None
    end_s: float = None
    cpu_s: float = None  # of a hog
    early_cpu_s: float = None  # used, and since when, at the end of the first job
    early_s: float = None


class Runner:
    """`command(index)` is the command that runs a job and writes `base(index)` + ".json",
    `hog_commands(job)` one for each process of a hog, which waits for a line on its standard input; `gated`: so do
    the commands of jobs; `counts_cpu`: processes run on this machine, so that their CPU time is known;
    `verified(report, output, loop)` says whether a job did its work. Times are seconds after the first job
    may start."""

    def __init__(self, unit, cluster, command, hog_commands, base, gated, counts_cpu=True,
                 verified=output.verified):
        self.unit = unit
        self.cluster = cluster
        self.command = command
        self.hog_commands = hog_commands
        self.base = base
        self.gated = gated
        self.counts_cpu = counts_cpu
        self.verified = verified
        self.launchers = {}  # by index
        self.running = {}
        self.done = {}
        self.queue = list(range(len(unit.submissions)))
        self.selector = selectors.DefaultSelector()
        self.origin_s = None  # on the monotonic clock
        self.origin_wall_s = None

    def run(self):
        """Runs all jobs; returns them as the "jobs" of runs.jsonl, without what needs other runs."""
        try:
            self._load_launchers()
            self.origin_s, self.origin_wall_s = time.monotonic(), time.time()
            while self._comes_to_an_end():
                self._admit()
                self._wait()
            self._end_hogs()
        finally:
            self.end()
        return [self._outcome(index) for index in sorted(self.done)]

    def _comes_to_an_end(self):
        """Whether there is a job that will end, or is to come; hogs alone never end, nor does one that arrives
        when all is over matter."""
        return self._awaited() or any(not self.unit.jobs[index].is_hog for index in self.queue)

    def _now(self):
        return time.monotonic() - self.origin_s

    def _awaited(self):
        return [index for index in self.running if not self.unit.jobs[index].is_hog]

    # -- starting

    def _spawn(self, index):
        job = self.unit.jobs[index]
        commands = self.hog_commands(job) if job.is_hog else [self.command(index)]
        waits = self.gated or job.is_hog
        # Who is killed ends nothing, and a job on other hosts would run on, a hog without end.
        ends_too = functools.partial(processes.end_with, os.getpid())
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.base(index) + ".json")  # of an attempt that was broken off
        with open(self.base(index) + ".log", "wb") as log:
            return _Running(index, [subprocess.Popen(
                command, stdin=subprocess.PIPE if waits else subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, preexec_fn=ends_too) for command in commands])

    def _load_launchers(self):
        """Loading Python takes a fraction of a second, which must not look like a job's time."""
        ahead = [index for index in self.queue[:LAUNCHERS_AHEAD]
                 if self.gated or self.unit.jobs[index].is_hog]
        fresh = [index for index in ahead if index not in self.launchers]
        for index in fresh:
            with signals.kept():
                self.launchers[index] = self._spawn(index)
        if fresh and self.origin_s is None:
            self._let_load()

    def _let_load(self):
        """Waits until all launchers sleep at their gates: until none was awake for a while."""
        deadline = time.monotonic() + LOADING_S
        asleep = 0
        while asleep < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
            sleeping = all(processes.is_asleep(process.pid) for run in self.launchers.values() for process in run.popen)
            asleep = asleep + 1 if sleeping else 0

    def _may_start(self, index):
        submission = self.unit.submissions[index]
        if submission.arrival_s > self._now():
            return False
        if not self.unit.limit or submission.job.is_hog:
            return True
        # Hogs never leave, so nobody may wait for that.
        present = [self.unit.jobs[other] for other in self._awaited()]
        return self.cluster.has_room(submission.job, present, self.unit.limit)

    def _admit(self):
        """Starts jobs in order of arrival, none before its turn."""
        while self.queue and self._may_start(self.queue[0]):
            index = self.queue.pop(0)
            with signals.kept():
                current = self.launchers.pop(index, None) or self._spawn(index)
                if self.unit.jobs[index].is_hog:
                    current.ahead_cpu_s = _own_s(current)
                current.start_s = self._now()
                self.running[index] = current
            for process in current.popen:
                descriptor = os.pidfd_open(process.pid)
                self.selector.register(descriptor, selectors.EVENT_READ, (index, process))
            for process in current.popen:
                self._open_gate(process)
        self._load_launchers()

    @staticmethod
    def _open_gate(process):
        if not process.stdin:
            return
        try:
            process.stdin.write(b"\n")
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended; what it said is in its log

    # -- ending

    def _wait(self):
        timeout_s = None
        if self.queue:
            arrival_s = self.unit.submissions[self.queue[0]].arrival_s
            if arrival_s > self._now():
                timeout_s = arrival_s - self._now()
            elif not self.running:
                raise NasError(f"job {self.unit.jobs[self.queue[0]]} does not fit on the cluster")
        if not self.running:
            time.sleep(max(0, timeout_s or 0))
            return
        for key, _ in self.selector.select(timeout_s):
            self._forget(key)
            index, process = key.data
            process.wait()
            self._check_hog(index)
            if all(other.returncode is not None for other in self.running[index].popen):
                self._ended(index)

    def _forget(self, key):
        self.selector.unregister(key.fd)
        os.close(key.fd)

    def _ended(self, index):
        current = self.running.pop(index)
        current.end_s = self._now()
        if self.unit.together and not self.done:
            self._look_at_the_others()
        self.done[index] = current

    def _check_hog(self, index):
        """One of its processes that ends leaves its node to the others: the run is not what it is told as."""
        if self.unit.jobs[index].is_hog and any(process.poll() is not None for process in self.running[index].popen):
            raise NasError(f"a hog ended by itself, see {self.base(index)}.log")

    def _look_at_the_others(self):
        """How much CPU time each job has had when the first one ends: later, fewer share."""
        for current in self.running.values():
            current.early_s = self._now() - current.start_s
            current.early_cpu_s = self._used_s(current)

    def _used_s(self, current):
        """CPU time so far: of a hog itself, of a job all but its launcher."""
        if not self.counts_cpu:
            return None
        used_s = sum(processes.below_cpu_s(process.pid) for process in current.popen)
        if self.unit.jobs[current.index].is_hog:
            used_s += _own_s(current) - current.ahead_cpu_s
        return used_s

    def _end_hogs(self):
        for index in list(self.running):
            self._check_hog(index)
            current = self.running[index]
            current.cpu_s = self._used_s(current)
            current.end_s = self._now()
            _end(current.popen)
            self.done[index] = self.running.pop(index)

    def end(self):
        """Ends what still runs; harmless when nothing does."""
        left = [process for run in (*self.running.values(), *self.launchers.values())
                for process in run.popen]
        _end(left)
        self.launchers = {}
        for key in list((self.selector.get_map() or {}).values()):
            self._forget(key)
        self.selector.close()

    # -- the record

    def _outcome(self, index):
        current, submission = self.done[index], self.unit.submissions[index]
        job = submission.job
        found = {"index": index, "job": str(job), "arrival_s": submission.arrival_s,
                 "start_s": current.start_s, "end_s": current.end_s,
                 "degree": self._degree(job), "log": os.path.basename(self.base(index)) + ".log"}
        if job.is_hog:
            found.update({"cpu_s": current.cpu_s, "verified": True, "hung_in_finalize": 0,
                          "timed_out": False, "exit_status": 0, "started": None, "seconds": []})
        else:
            found.update(self._reported(index))
            found["start_s"] = found.pop("started_monotonic_s") - self.origin_s
            found["end_s"] = found["start_s"] + found.pop("lasted_s")
        found["wait_s"] = found["start_s"] - found["arrival_s"]
        found["response_s"] = found["end_s"] - found["arrival_s"]
        found["fairness"] = self._fairness(current, found, job)
        return found

    def _degree(self, job):
        degree = self.cluster.degree(job, self.unit.jobs)
        return min(degree, float(self.unit.limit)) if self.unit.limit else degree

    def _reported(self, index):
        job, base = self.unit.jobs[index], self.base(index)
        try:
            with open(base + ".json", encoding="utf-8") as file:
                report = json.load(file)
        except (FileNotFoundError, ValueError):
            raise NasError(f"{job}: could not be run, see {base}.log") from None
        with open(base + ".log", encoding="utf-8", errors="replace") as file:
            good = self.verified(report, file.read(), report["loop"])
        return {"cpu_s": report["cpu_s"], "verified": good,
                "hung_in_finalize": report["hung_in_finalize"], "timed_out": report["timed_out"],
                "exit_status": report["exit_status"], "started": report["started"],
                "seconds": report["seconds"], "lasted_s": report["response_s"],
                "started_monotonic_s": report["started_monotonic_s"]}

    def _fairness(self, current, found, job):
        """Sobalvarro et al., equation 2: N x CPU time / response time, up to the end of the first job,
        with N processes for each CPU that the job can use."""
        if not self.unit.together:
            return None
        cpu_s, over_s = current.early_cpu_s, current.early_s
        if over_s is None:
            cpu_s, over_s = found["cpu_s"], found["end_s"] - found["start_s"]
        if cpu_s is None or not over_s:
            return None
        return self._degree(job) * cpu_s / (self.cluster.whole_width(job) * over_s)


def _own_s(current):
    return sum(processes.cpu_s(process.pid) for process in current.popen)


def _end(left):
    """SIGTERM first: a launcher then ends its job, wherever that runs."""
    for process in left:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + END_S
    for process in left:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()
