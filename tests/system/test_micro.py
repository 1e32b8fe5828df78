"""run_micro.sh: every measurement of every case gets its line, the library is really what is measured,
and nothing is left behind, an interruption included. Asserts nothing about how fast anything is.
Needs root."""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import costs  # noqa: E402
import ratios  # noqa: E402
from labkit import processes  # noqa: E402

LAB_NAMES = [f"cosched-lab-micro-{name}" for name in ("plain", "again", "forward", "notice", "header", "polls")]
BUILD = os.environ.get("COSCHED_BUILD_DIR") or os.path.join(os.path.dirname(BENCH), "build", "release")
FAMILIES = [family for family in costs.FAMILIES if shutil.which("mpiexec." + family)
            and os.path.exists(os.path.join(BUILD, "bench", "micro", family, "exchanges"))]


def leftovers():
    return ([name for lab in LAB_NAMES for name in glob.glob(f"/run/{lab}*")]
            + glob.glob("/run/cosched-micro-*")
            + [f"process {who['pid']}" for lab in LAB_NAMES for who in processes.marked(lab)])


def start(*arguments):
    return subprocess.Popen([os.path.join(BENCH, "run_micro.sh"), "--build", BUILD, "--quick",
                             "--rounds", "1", *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Table(unittest.TestCase):
    def check(self, mpi, case_name):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.json")
            process = start("--mpi", mpi, "--case", case_name, "--json", file)
            text = process.communicate(timeout=120)[0]
            self.assertEqual(process.returncode, 0, text)
            with open(file, encoding="utf-8") as stream:
                table = json.load(stream)["table"]
        case = next(case for case in costs.CASES if case.name == case_name)
        room = case.ranks <= len(os.sched_getaffinity(0))
        expected = [row.name for row in costs.ROWS
                    if row.name in costs.QUICK_ROWS and (room or not row.collective)]
        self.assertEqual([line["row"] for line in table], expected)
        for line in table:
            self.assertRegex(text, rf"(?m)^{mpi} +{re.escape(line['case'])} +{line['row']}  ")
            self.assertLessEqual({"again", "forward", "notice"}, set(line["ratios"]))
            for one in line["ratios"].values():
                self.assertGreater(one["low"], 0)
                self.assertLessEqual(one["low"], one["median"])
                self.assertLessEqual(one["median"], one["high"])
        self.assertEqual(leftovers(), [])

    def test_over_tcp(self):
        self.check(FAMILIES[0], "tcp")

    def test_by_shared_memory(self):
        self.check(FAMILIES[-1], "shm+tcp")


class Idle(unittest.TestCase):
    def test_each_call_has_its_line(self):
        done = subprocess.run([os.path.join(BENCH, "run_idle.sh"), "--build", BUILD, "--mpi", FAMILIES[0], "--seconds", "1",
                               "--runs", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        for call in ("recv", "barrier", "allreduce"):
            self.assertRegex(done.stdout, rf"(?m)^{call} +1 +[0-9.]+% ")
        self.assertFalse(glob.glob("/run/cosched-lab-idle*"))

    def test_no_time_is_refused(self):
        done = subprocess.run([sys.executable, os.path.join(BENCH, "micro", "idle.py"), "--seconds", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "PYTHONPATH": BENCH}, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("at least 1", done.stdout)


class Sleeping(unittest.TestCase):
    def test_each_company_has_its_line(self):
        done = subprocess.run([os.path.join(BENCH, "run_sleeping.sh"), "--build", BUILD, "--mpi", FAMILIES[0], "--class", "S",
                               "--repeat", "1", "--settle", "0", "--runs", "1"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^beside a sleeper +[0-9.]+ of alone")
        self.assertRegex(done.stdout, r"(?m)^beside a sleeper that has turns +[0-9.]+ of alone")
        self.assertFalse(glob.glob("/run/cosched-lab-sleeping*") + glob.glob("/run/cosched-sleeping-*"))


class Figures(unittest.TestCase):
    """What documents quote is still printed."""

    def said(self, script, *arguments):
        done = subprocess.run([os.path.join(BENCH, script), "--build", BUILD, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_noticing(self):
        text = self.said("run_noticing.sh", "--mpi", FAMILIES[0], "--slice", "300ms", "--seconds", "2", "--warm-up", "1",
                         "--class", "S", "--align", "yes")
        self.assertRegex(text, r"slice 300ms, gmet by default, align = yes")
        self.assertRegex(text, r"(?m)^mpi-\S+ +root +[1-9]\d* +[0-9.]+ ms +[0-9.]+ ms +[0-9.]+ ms ")

    def test_skew(self):
        text = self.said("run_skew.sh", "--mpi", FAMILIES[0], "--slot", "100ms", "--seconds", "2", "--warm-up", "1",
                         "--class", "S")
        self.assertRegex(text, r"(?m)^100ms +\d+ +[0-9.]+ ms")
        self.assertRegex(text, r"(?m)^  sleeper +\d+ +[0-9.]+ ms")

    def test_tracking(self):
        text = self.said("run_tracking.sh", "--quick", "--switches", "2", "--means", "share")
        self.assertRegex(text, r"(?m)^share +15 busy +[0-9.]+ +[0-9.]+ ")


class Interrupted(unittest.TestCase):
    def test_nothing_is_left(self):
        process = start("--mpi", FAMILIES[0], "--case", "tcp", "--rounds", "1000")
        for line in process.stdout:
            if "sitting 1" in line:
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(leftovers(), [])


class Arithmetic(unittest.TestCase):
    def test_every_variant_has_its_column(self):
        options = argparse.Namespace(build=BUILD, quick=False)
        self.assertEqual(["plain", *costs.COLUMNS], [variant.name for variant in costs.variants(options, FAMILIES[0])])
        self.assertEqual([f"cosched-lab-micro-{variant.name}" for variant in costs.variants(options, FAMILIES[0])], LAB_NAMES)

    def test_the_interval_holds_the_median(self):
        middle, low, high = ratios.median_and_interval([[1.0, 1.1, 1.2], [0.9, 1.0, 1.3]])
        self.assertEqual(middle, 1.05)
        self.assertTrue(0.9 <= low <= middle <= high <= 1.3)

    def test_sittings_that_differ_widen_the_interval(self):
        _, low, high = ratios.median_and_interval([[1.0] * 20, [1.2] * 20, [0.8] * 20])
        self.assertEqual((low, high), (0.8, 1.2))

    def test_verdicts(self):
        self.assertEqual(ratios.verdict(1.0, 0.9, 1.1, ("<=", 1.01)), "")
        self.assertEqual(ratios.verdict(1.02, 1.0, 1.1, ("<=", 1.01)), "?")
        self.assertEqual(ratios.verdict(1.05, 1.02, 1.1, ("<=", 1.01)), "!")
        self.assertEqual(ratios.verdict(0.98, 0.97, 1.0, (">=", 0.99)), "?")
        self.assertEqual(ratios.verdict(0.97, 0.96, 0.98, (">=", 0.99)), "!")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("the lab needs root", file=sys.stderr)
        sys.exit(77)
    if not FAMILIES:
        print(f"no MPI family in {BUILD}", file=sys.stderr)
        sys.exit(77)
    unittest.main()
