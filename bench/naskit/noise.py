"""The noise guard: a fixed piece of work on every CPU at once, before and after each unit, and a small one again and
again during it (pace.py). Where it takes clearly longer than it mostly does, something else was running, and the run is
not to be trusted."""

import statistics
import subprocess
import sys

from . import NasError, records

# Runs in a process of its own, on one CPU; prints the seconds that its loop took.
KERNEL = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
start = time.monotonic()
x = 1
for _ in range(2000000):
    x = x * 5 & 0xffffffff
print(time.monotonic() - start)
"""


def calibrate(cpus):
    """Seconds of the slowest CPU."""
    running = [subprocess.Popen([sys.executable, "-I", "-S", "-c", KERNEL, str(cpu)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                start_new_session=True) for cpu in cpus]
    return slowest([process.communicate()[0] for process in running])


def slowest(outputs):
    try:
        return max(float(text) for text in outputs)
    except ValueError:
        raise NasError("the calibration kernel did not run") from None


class Guard:
    """Judges by the medians of a sitting so far: between sittings a machine may have become another one. By all
    calibrations, which are made between units, and by the paces of all runs, which say what went on during them. A
    factor of 0 judges nothing."""

    def __init__(self, factor, runs=()):
        self.factor = factor
        self.calibrations = []
        self.paces = []
        for run in runs:
            for calibration_s in run.get("calibrations_s", [run["calibration_s"]]):
                self.add(calibration_s)
            self.add_pace(run)

    def add(self, calibration_s):
        if calibration_s is not None:
            self.calibrations.append(calibration_s)

    def add_pace(self, run):
        if run.get("pace_s") is not None:
            self.paces.append(run["pace_s"])

    def is_disturbed(self, calibration_s):
        """Whether a calibration, which was added before, is beyond the threshold."""
        return self._is_beyond(calibration_s, self.calibrations)

    def _is_beyond(self, seconds, seen):
        if not self.factor or not seen or seconds is None:
            return False
        return seconds > self.factor * statistics.median(seen)

    def judge(self, runs):
        """Marks the runs. The medians become better known as the session goes on, so the first runs
        may have to be judged anew."""
        for run in runs:
            run["disturbed"] = self.is_disturbed(run["calibration_s"]) or self._is_beyond(run.get("pace_s"), self.paces)


def judged(known, factor):
    """Of the lines of runs.jsonl those that count, marked. Each sitting is judged as a whole: also by what a later one has
    made anew."""
    runs = records.standing(known)
    for number in {records.sitting(run) for run in runs}:
        own = [run for run in runs if records.sitting(run) == number]
        Guard(factor, own).judge(own)
    return records.current(runs)
