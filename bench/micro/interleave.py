"""Jobs compared on a noisy machine: they run side by side and take turns of a twentieth of a second.

Each variant has a lab of its own, with daemons of its own, so every job is alone on its cluster; the
labs share the CPUs. Only one job runs at a time: the others are stopped (SIGSTOP). What counts is the
time for which a job was running between two marks in its output. A disturbance that lasts longer than
two turns hits all variants alike, which pairs of whole runs cannot achieve.

Neither does the clock start with the job nor end with it. All jobs are launched at once, since one
that is stopped when it has just begun remains slower for long (its connections learn from the delay).
So they compete until the turns begin, and ranks that compete wait for each other: what CPU time they
got then says little about how far they came. At the end, launchers sleep for times of their own. So
each job's clock runs from the same line of its output, the first that none of them had printed when
the turns began, to the line that says that it verified.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time

import two_jobs
import waiting
from guard import putting_away
from labkit import processes

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
MARK = r"^Run \d+\b|^\s*Time step\s+\d+"  # lines of which a job prints one for each part of its work
DONE = r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL"
TURN_S = 0.05
LAUNCH_DEADLINE_S = 60.0
LOOK_AT_LAUNCH_S = 0.05
LAUNCH_S = 2.0  # for so much running time new processes are looked for after each turn
TURNS_PER_LOOK = 50  # afterwards
LOOK_AT_OUTPUT_S = 0.002


class Disturbed(Exception):
    """A job did not end, did not verify, or ran without the library that it was to have."""


class Variant:
    """One way to run the job: a name and the options of `lab mpiexec` that make it."""

    def __init__(self, name, *options):
        self.name = name
        self.options = list(options)
        self.lab_name = f"cosched-lab-turns-{name}"
        self.lab = [os.path.join(BENCH, "lab"), "--name", self.lab_name]

    def command(self, *arguments):
        return [*self.lab, *arguments]


class Clock:
    """Counts the time for which a job was running between two marks in its output."""

    def __init__(self, output):
        self.output = output
        self.looked_at = 0  # bytes of output
        self.start_after = None  # marks; None: the turns have not begun
        self.running = False
        self.over = False
        self.counted_s = 0.0
        self.since_s = None  # None: the job is stopped

    def text(self):
        # The job writes where this file's offset is: no seek.
        size = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), size, 0).decode(errors="replace")

    def marks(self):
        return len(re.findall(MARK, self.text(), re.MULTILINE))

    def resume(self):
        self.since_s = time.monotonic()

    def stop(self):
        self._count()
        self.since_s = None

    def look(self):
        """Starts and ends the count when its marks have come."""
        size = os.fstat(self.output.fileno()).st_size
        if self.over or size == self.looked_at:
            return
        self.looked_at = size
        if not self.running and self.marks() > self.start_after:
            self.running = True
            self.since_s = time.monotonic()
        elif self.running and re.search(DONE, self.text(), re.MULTILINE):
            self._count()
            self.running = False
            self.over = True

    def _count(self):
        if self.running:
            self.counted_s += time.monotonic() - self.since_s


class Job:
    """One run of a variant: running only between resume() and stop()."""

    def __init__(self, variant, mpi, program, output):
        self.variant = variant
        self.output = output
        self.clock = Clock(output)
        self.turns = 0
        self.known = []
        self.process = subprocess.Popen(
            # A job without the library is in its nodes' cgroups too, as classes are: beside whatever else runs on the
            # machine all jobs weigh the same.
            variant.command("mpiexec", "--users", "--mpi", mpi, "-n", "2", "--timeout", "900", "--done-pattern",
                            DONE, "--grace", "600", *variant.options, *program),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def resume(self):
        self.clock.resume()
        for who in self.known:
            processes.send(who, signal.SIGCONT)

    def run(self, turn_s):
        """Lets the time pass, or as much of it as is counted."""
        end_s = time.monotonic() + turn_s
        while time.monotonic() < end_s and not self.clock.over:
            time.sleep(LOOK_AT_OUTPUT_S)
            self.clock.look()
            if self.process.poll() is not None and not self.clock.over:
                raise self.disturbed("ended without the marks that its clock needs")

    def stop(self):
        for who in self.known:
            processes.send(who, signal.SIGSTOP)
        self.clock.stop()
        self.turns += 1
        if self.turns * TURN_S < LAUNCH_S or self.turns % TURNS_PER_LOOK == 0:
            self.stop_new()

    def stop_new(self):
        """Stops processes that were not known yet, until there are none: they may still be forking."""
        while True:
            found = processes.descendants(self.process.pid)
            new = [who for who in found if who not in self.known]
            self.known = found
            if not new:
                return
            for who in new:
                processes.send(who, signal.SIGSTOP)

    def check_library(self):
        """What runs without it is not measured as if it ran with it."""
        if "--preload" not in self.variant.options:
            return
        status = subprocess.run(self.variant.command("status", "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                text=True, check=False)
        problem = two_jobs.missing(status.stdout, [(self.variant.name, two_jobs.NODES)]) if status.returncode == 0 else "no lab"
        if problem is not None:
            raise Disturbed(f"{self.variant.name}: {problem}")

    def finish(self):
        self.resume()
        if self.process.wait() != 0:
            raise self.disturbed("did not verify")

    def disturbed(self, what):
        return Disturbed(f"{self.variant.name}: the job {what}:\n{self.clock.text()[-2000:]}")

    def abandon(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.resume()
            self.process.wait()


def run_once(variants, mpi, program, shuffle, turn_s=TURN_S):
    """{variant name: seconds of running} of one run of each variant, all at once."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        try:
            for variant in shuffle.sample(variants, len(variants)):
                jobs.append(Job(variant, mpi, program, open(os.path.join(folder, variant.name), "w+b")))
            _launch(jobs)
            while not all(job.clock.over for job in jobs):
                for job in shuffle.sample(jobs, len(jobs)):
                    if job.clock.over:
                        time.sleep(turn_s)  # so that the last one gets no more turns than before
                        continue
                    job.resume()
                    job.run(turn_s)
                    job.stop()
            for job in jobs:
                job.resume()
            for job in jobs:
                job.finish()
        finally:
            for job in jobs:
                job.abandon()
                job.output.close()
    return {job.variant.name: job.clock.counted_s for job in jobs}


def _launch(jobs):
    """All run at once, until each has printed its first mark; then all stop."""
    deadline_s = time.monotonic() + LAUNCH_DEADLINE_S
    while min(job.clock.marks() for job in jobs) == 0:
        time.sleep(LOOK_AT_LAUNCH_S)
        for job in jobs:
            if job.process.poll() is not None:
                raise job.disturbed("ended before the turns began")
        if time.monotonic() > deadline_s:
            raise Disturbed(f"no line like {MARK} from some job in {LAUNCH_DEADLINE_S:.0f} s")
    for job in jobs:
        job.stop_new()
        job.check_library()
    marks = max(job.clock.marks() for job in jobs)
    for job in jobs:
        job.clock.start_after = marks


def _stop_at_once():
    """This process comes before any job. Else it waits for a CPU at the end of a turn, and longer for one
    sort of jobs than for the other: the classes of registered jobs have weights of their own."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        raise Disturbed("this program may not run in real time (CAP_SYS_NICE, or a cgroup without real-time runtime), and would "
                        "wait for a CPU at the end of turns") from None


@contextlib.contextmanager
def _labs(variants, build):
    """Those of other sessions are left alone: theirs is the same name, and `up` refused then."""
    owner = ["--owner", str(os.getpid())]
    try:
        for variant in variants:
            up = variant.command("up", "--build", build, *owner)
            if subprocess.run(up, stdin=subprocess.DEVNULL, check=False).returncode != 0:
                raise Disturbed(f"{' '.join(up)} failed")
        yield
    finally:
        with putting_away():
            for variant in variants:
                subprocess.run(variant.command("down", *owner), stdin=subprocess.DEVNULL, check=False)


def compare(variants, build, mpi, program, runs, seed=0, turn_s=TURN_S, progress=None):
    """A list of run_once() results, `runs` of them. `program` is a list: path and arguments."""
    shuffle = random.Random(seed)
    results = []
    _stop_at_once()
    with _labs(variants, build):
        for number in range(runs):
            results.append(run_once(variants, mpi, program, shuffle, turn_s))
            if progress:
                progress(number + 1, results[-1])
    return results


def launch(variants, build, mpi, program, times, seed=0):
    """A list of {variant name: seconds from start to end}, `times` of them, of a short program that is run
    by one variant after the other. What hung in MPI_Finalize counts to its result: the wait for that is the launcher's."""
    shuffle = random.Random(seed)
    results = []
    with _labs(variants if times else [], build):
        for variant in variants if times else ():
            said = _launched(variant, mpi, program, ["--env", "COSCHED_STATS=1"])[1]  # which takes time
            if "--preload" in variant.options and not waiting.LIBRARY_LINE.search(said):
                raise Disturbed(f"{variant.name}: the job ran without the library; it said:\n{said[-2000:]}")
        for _ in range(times):
            results.append({variant.name: _launched(variant, mpi, program)[0]
                            for variant in shuffle.sample(variants, len(variants))})
    return results


def _launched(variant, mpi, program, options=()):
    """(seconds, what it said) of one run from start to end."""
    with tempfile.NamedTemporaryFile(prefix="cosched-turns-") as report, tempfile.TemporaryFile() as output:
        done = subprocess.run(
            variant.command("mpiexec", "--users", "--mpi", mpi, "-n", "2", "--timeout", "120", "--done-pattern", DONE, "--report",
                            report.name, *variant.options, *options, *program),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)
        output.seek(0)
        said = output.read().decode(errors="replace")
        if done.returncode != 0:
            raise Disturbed(f"{variant.name}: the job did not verify:\n{said[-2000:]}")
        return json.load(report)["response_s"], said
