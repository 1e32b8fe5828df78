"""Jobs compared on a noisy machine: they run side by side and take turns of a twentieth of a second.

Each variant has a lab of its own, with daemons of its own, so every job is alone on its cluster; the
labs share the CPUs. Only one job runs at a time: the others are stopped (SIGSTOP). What counts is the
time for which a job was running until it ended. A disturbance that lasts longer than two turns hits
all variants alike, which pairs of whole runs cannot achieve.
"""

import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from labkit import processes

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
DONE = r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL"
TURN_S = 0.05
PRIORITY = -20  # "nice" of the jobs: what else runs on the machine hardly counts
FIRST_TURN_S = 1.0  # all of a job's turns while it is launched
LAUNCH_S = 2.0  # for so much running time new processes are looked for after each turn
TURNS_PER_LOOK = 50  # afterwards


class Disturbed(Exception):
    """A job did not end or did not verify."""


class Variant:
    """One way to run the job: a name and the options of `lab mpiexec` that make it."""

    def __init__(self, name, *options):
        self.name = name
        self.options = list(options)
        self.lab = [os.path.join(BENCH, "lab"), "--name", f"cosched-lab-turns-{name}"]

    def command(self, *arguments):
        return [*self.lab, *arguments]


class Job:
    """One run of a variant: running only between resume() and stop()."""

    def __init__(self, variant, mpi, program, output):
        self.variant = variant
        self.output = output
        self.active_s = 0.0
        self.turns = 0
        self.over = False
        self.known = []
        self.process = subprocess.Popen(
            variant.command("mpiexec", "--mpi", mpi, "-n", "2", "--timeout", "900", "--done-pattern",
                            DONE, "--grace", "600", *variant.options, *program),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        os.setpriority(os.PRIO_PROCESS, self.process.pid, PRIORITY)
        self.ended = os.pidfd_open(self.process.pid)
        self.since_s = time.monotonic()

    def resume(self):
        self.since_s = time.monotonic()
        for who in self.known:
            processes.send(who, signal.SIGCONT)

    def run(self, turn_s):
        """Lets the time pass. True when the job has ended."""
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        return bool(poll.poll(turn_s * 1000))

    def stop(self):
        for who in self.known:
            processes.send(who, signal.SIGSTOP)
        self.active_s += time.monotonic() - self.since_s
        self.turns += 1
        if self.active_s < LAUNCH_S or self.turns % TURNS_PER_LOOK == 0:
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

    def finish(self):
        self.active_s += time.monotonic() - self.since_s
        self.over = True
        os.close(self.ended)
        self.output.seek(0)
        text = self.output.read().decode(errors="replace")
        if self.process.wait() != 0 or not re.search(DONE, text, re.MULTILINE):
            raise Disturbed(f"{self.variant.name}: the job did not verify:\n{text[-2000:]}")

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
            # A job that is stopped for a second when it has just begun remains slower than the others
            # for long: its connections learn from the delay. So all start together.
            for variant in shuffle.sample(variants, len(variants)):
                jobs.append(Job(variant, mpi, program, open(os.path.join(folder, variant.name), "w+b")))
            _launch(jobs)
            while not all(job.over for job in jobs):
                for job in shuffle.sample(jobs, len(jobs)):
                    if job.over:
                        # Launchers sleep at the end of a job, and a sleep costs nothing while others have
                        # their turn: there must be others for the last job, too.
                        time.sleep(turn_s)
                        continue
                    job.resume()
                    _turn(job, turn_s)
        finally:
            for job in jobs:
                job.abandon()
                job.output.close()
    return {job.variant.name: job.active_s for job in jobs}


def _launch(jobs):
    """All run at once. The time is divided in the ratio of the CPU time that they got: a job in a class of
    its own competes with other weights than one that is not."""
    begin_s = time.monotonic()
    time.sleep(FIRST_TURN_S * len(jobs))
    for job in jobs:
        job.stop_new()
    passed_s = time.monotonic() - begin_s
    got_s = [sum(processes.cpu_s(who["pid"]) for who in job.known) for job in jobs]
    for job, part_s in zip(jobs, got_s):
        job.active_s = passed_s * part_s / max(sum(got_s), 1e-9)


def _turn(job, turn_s):
    if job.run(turn_s):
        job.finish()
    else:
        job.stop()


def _stop_at_once():
    """This process comes before any job. Else it waits for a CPU at the end of a turn, and longer for one
    sort of jobs than for the other: some are in a class of weight 1024, some are alone with their PRIORITY."""
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def compare(variants, build, mpi, program, runs, seed=0, turn_s=TURN_S, progress=None):
    """A list of run_once() results, `runs` of them. `program` is a list: path and arguments."""
    shuffle = random.Random(seed)
    results = []
    _stop_at_once()
    try:
        for variant in variants:
            up = variant.command("up", "--build", build, "--owner", str(os.getpid()))
            if subprocess.run(up, stdin=subprocess.DEVNULL, check=False).returncode != 0:
                raise Disturbed(f"{' '.join(up)} failed")
        for number in range(runs):
            results.append(run_once(variants, mpi, program, shuffle, turn_s))
            if progress:
                progress(number + 1, results[-1])
    finally:
        for variant in variants:
            subprocess.run(variant.command("down"), stdin=subprocess.DEVNULL, check=False)
    return results


def terminate_by_exception():
    """SIGTERM unwinds this program, so that labs and jobs do not outlive it."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
