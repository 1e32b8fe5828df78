"""A session of bench/naskit on a site that only pretends: no root, no MPI, no lab."""

import argparse
import io
import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from labkit import processes  # noqa: E402
from naskit import experiments, plan, schedulers, session, sitting, store, workload_file  # noqa: E402

# Stands for `lab mpiexec`: waits at the gate, lasts as long as the job says, reports.
LAUNCHER = """
import json, sys, time
name, report, gated = sys.argv[1:4]
if gated == "gated":
    sys.stdin.readline()
start = time.monotonic()
repeat = int(name.partition("*")[2] or 1)
time.sleep(0.02 * repeat)
print(f"NPB kernel={name} verified={'no' if name.startswith('is') else 'yes'}")
lasted_s = time.monotonic() - start
json.dump({"response_s": lasted_s, "started_monotonic_s": start, "started": time.time(),
           "seconds": [lasted_s], "cpu_s": 0.01, "exit_status": 0, "timed_out": False,
           "hung_in_finalize": 0, "loop": 1}, open(report, "w"))
"""


class Site:
    """Calibrations, and the paces of units, are taken from lists, then are all the same."""

    counts_cpu = True

    def __init__(self, calibrations=(), paces=()):
        self.calibrations = list(calibrations)
        self.paces = list(paces)
        self.asked_pace = 0
        self.slice_s = None
        self.ups = self.downs = 0
        self.prepared = []

    def check(self):
        pass

    def up(self):
        self.ups += 1

    def described(self):
        return {"classd": {"scheduler.policy": "yoo-jette"}}

    def down(self):
        self.downs += 1

    def calibrate(self):
        return self.calibrations.pop(0) if self.calibrations else 0.1

    def pace(self):
        """Every second time the unit is over."""
        self.asked_pace += 1
        if self.asked_pace % 2 == 1:
            return 9.0
        return self.paces.pop(0) if self.paces else 0.001

    def prepare(self, scheduler, unit):
        self.prepared.append((scheduler.name, unit.value))

    def time_slice_s(self, unit):
        return self.slice_s or unit.time_slice_s

    def job_command(self, job, _mpi, _program, arguments):
        report = arguments[arguments.index("--report") + 1]
        return [sys.executable, "-I", "-S", "-c", LAUNCHER, str(job), report,
                "gated" if "--gate" in arguments else "free"]

    def preload(self):
        return ["--preload"]

    def hog_commands(self, job):
        return [["sleep", "60"]] * job.ranks

    def counters(self):
        return []

    def trace_start(self):
        pass

    def trace_dumps(self):
        return []

    def environment(self):
        return {}


class Clock:
    """Of the sitting: time passes while units run, and how much is the test's to say."""

    def __init__(self):
        self.now_s = 0.0

    def monotonic(self):
        return self.now_s

    @staticmethod
    def sleep(_seconds):
        pass


class SessionCase(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.results = store.Store(os.path.join(self.temporary.name, "out"))
        self.results.make()
        self.results.write_json("environment.json", {})
        self.clock = Clock()
        self.enterContext(mock.patch.object(sitting, "time", self.clock))
        programs = os.path.join(self.temporary.name, "bin")
        os.mkdir(programs)
        for kernel in ("cg", "ep", "is"):
            path = os.path.join(programs, f"{kernel}.S.x")
            with open(path, "w", encoding="ascii"):
                os.chmod(path, stat.S_IRWXU)

    def tearDown(self):
        self.assertEqual(processes.descendants(), [])
        self.temporary.cleanup()

    def session(self, jobs, names, site=None, name="quick", **others):
        file = workload_file.parse("[workload]\n" + jobs, "mine.ini")
        request = plan.Request(experiments.TABLE[name], (file,),
                               tuple(schedulers.parse_list(names).values()), others.pop("runs", 1), 1.0, 0.25)
        options = argparse.Namespace(**{
            "nodes": 2, "cpus_per_node": 1, "noise": 1.2, "retries": 2, "schedulers": names, "env": [],
            "lasting": None, "anew": (), "npb_dir": self.temporary.name, "build": "/", "timeout": 30, **others})
        units = plan.build([request], others.get("mpis", ["mpich"]), 1, 1.0)
        made = session.Session(options, site or Site(), self.results, units)
        made.progress.stream = io.StringIO()
        run_unit = made.run_unit

        def timed(place, unit, attempt):
            self.clock.now_s += 0.4
            return run_unit(place, unit, attempt)

        made.run_unit = timed
        return made
