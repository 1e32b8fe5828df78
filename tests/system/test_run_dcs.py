"""bench/run_dcs.sh with real programs on a virtual cluster, as short as can be: every workload and every variant runs,
figures are drawn, every job did its work, and nothing is left. Times are never asserted. Needs root."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
NAME = "cosched-lab-run-dcs"
FAMILIES = [family for family in ("mpich", "openmpi") if shutil.which("mpiexec." + family)]


class RunDcs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cosched-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(subprocess.run, [os.path.join(BENCH, "lab"), "--name", NAME, "down"],
                        stdin=subprocess.DEVNULL, check=False)
        self.out = os.path.join(self.folder, "out")

    @staticmethod
    def command(*arguments):
        return subprocess.run([os.path.join(BENCH, "run_dcs.sh"), "--build", BUILD, *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
                              env={**os.environ, "COSCHED_DCS_LAB": NAME})

    def run_dcs(self, family, *arguments):
        """(summary, {(experiment, program, variant, competitors): row}) of a session that went well."""
        done = self.command("--out", self.out, "--mpi", family, "--quick", "--scale", "0.02", "--retries", "0",
                            "--noise", "0", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
            found = json.load(file)
        self.assertTrue(found["complete"])
        self.assertEqual({row["unverified"] for row in found["rows"]}, {0})
        return found, {(row["experiment"], row["program"], row["variant"], row["count"]): row for row in found["rows"]}

    def check_beside(self, row):
        """Of a program beside one competitor on each node."""
        self.assertEqual(row["parties"], 2)
        for measure in ("response_s", "slowdown", "cpu_ratio", "fairness"):
            self.assertGreater(row["measures"][measure]["median"], 0)

    def check_figures(self, *numbers):
        for number in numbers:
            self.assertTrue(os.path.exists(os.path.join(self.out, "figures", f"figure-{number}.svg")), number)

    def test_figures_of_a_tiny_session(self):
        _, rows = self.run_dcs(FAMILIES[0], "--figure", "4", "--figure", "8", "--variants", "dcs-spin")
        self.check_beside(rows["barrier", "barrier", "dcs-spin", 1])
        programs = {"sor", "tar"} | ({"gs"} if shutil.which("gs") else set())
        for variant in ("alone", "dcs-spin"):
            self.assertEqual({row[1] for row in rows if row[0] == "mixed" and row[2] == variant}, programs)
        for program in programs:
            self.assertIsNotNone(rows["mixed", program, "dcs-spin", None]["measures"]["fairness"], program)
        self.check_figures(4, 8)
        self.goes_on()
        self.assertEqual(glob.glob(f"/run/{NAME}*"), [])

    def test_every_other_variant_runs(self):
        variants = {"spin": "spin", "spin-block": "block", "dcs-spin-block": "block", "dcs": "auto", "yoo-jette": "auto"}
        others = [name for name in variants if name != "spin"]  # alone, it is run in any case
        found, rows = self.run_dcs(FAMILIES[-1], "--figure", "3", "--variants", ",".join(others))
        self.assertEqual(found["waits"], variants)
        for variant in others:
            self.check_beside(rows["latency", "latency", variant, 1])
        self.assertIsNone(rows["latency", "latency", "spin-block", 1]["measures"]["coscheduled"])  # nobody holds a node
        self.check_figures(3)
        self.assertEqual(glob.glob(f"/run/{NAME}*"), [])

    def goes_on(self):
        """A session whose last run was not made yet."""
        path = os.path.join(self.out, "runs.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines[:-1])
        done = self.command("--resume", self.out, "--runs", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("leave out --runs", done.stderr)
        done = self.command("--resume", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(path, encoding="utf-8") as file:
            again = file.readlines()
        self.assertEqual(again[:len(lines) - 1], lines[:-1])
        later = [json.loads(line) for line in again[len(lines) - 1:]]
        self.assertEqual(later[-1]["place"], json.loads(lines[-1])["place"])
        self.assertTrue(all(run["again"] for run in later[:-1]), later)  # what it is compared with


if __name__ == "__main__":
    if os.geteuid() != 0 or not FAMILIES or not BUILD:
        print("needs root, an MPI and COSCHED_BUILD_DIR", file=sys.stderr)
        sys.exit(77)
    unittest.main()
