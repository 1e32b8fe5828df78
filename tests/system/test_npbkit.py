"""verify_npb.sh and run_npb_speed.sh: what verifies is told from what does not, an interrupted session goes
on where it was, and no lab is left. Needs root. The official program is played by a script."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "bench"))
sys.path.insert(0, BENCH)

from npbkit import cases, results  # noqa: E402

BUILD = os.environ.get("COSCHED_BUILD_DIR") or os.path.join(os.path.dirname(BENCH), "build", "release")
FAMILIES = [family for family in cases.FAMILIES if shutil.which("mpiexec." + family)
            and os.path.exists(os.path.join(BUILD, "bench", "npb", family, "bin", "is"))]
TOO_LATE_S = 120
NAME = "cosched-lab-verify-npb"  # its own may be another session's

# Class S of EP is 2^25 random numbers.
OFFICIAL_EP = """#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || exit 0
echo ' Time in seconds =                     0.50'
echo ' Mop/s total     =                    67.11'
echo ' Verification    =               SUCCESSFUL'
"""
WRONG = "#!/bin/sh\necho 'NPB kernel=is class=S ranks=1 repeat=1 seconds=0.1 mops=1.0 verified=no'\nexit 1\n"


def run(command, *arguments):
    return subprocess.run([os.path.join(BENCH, command), *arguments], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TOO_LATE_S, check=False,
                          env={**os.environ, "COSCHED_NPB_LAB": NAME})


def make_program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


class Trials(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.results = os.path.join(self.folder, "results.jsonl")

    def verify(self, *arguments, build=BUILD):
        done = run("verify_npb.sh", "--build", build, "--mpi", FAMILIES[0], "--kernels", "is",
                   "--results", self.results, *arguments)
        self.assertFalse(os.path.exists(os.path.join("/run", NAME)), done.stdout)
        return done

    def test_each_way_on_each_number_of_ranks_gets_a_line(self):
        done = self.verify("--ranks", "1-2", "--ways", "all")
        self.assertEqual(done.returncode, 0, done.stdout)
        for way in ("library", "plain"):
            for ranks in (1, 2):
                self.assertRegex(done.stdout, rf"(?m)^{FAMILIES[0]} +{way} +is\.S\.{ranks} .*  verified")
        self.assertEqual(len(results.read(self.results)), 4)

    def test_goes_on_where_it_was(self):
        done = self.verify("--ranks", "1", "--limit", "0")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("1 left", done.stdout)
        self.assertEqual(self.verify("--ranks", "1").returncode, 0)
        self.assertIn("1 verified before", self.verify("--ranks", "1").stdout)
        self.assertEqual(len(results.read(self.results)), 1)

    def test_a_job_that_takes_too_long_fails(self):
        done = self.verify("--ranks", "1", "--timeout", "0.001")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("TIME LIMIT", done.stdout)

    def test_a_wrong_result_fails(self):
        build = os.path.join(self.folder, "build")
        os.makedirs(build)
        for name in os.listdir(BUILD):
            if name != "bench":
                os.symlink(os.path.join(BUILD, name), os.path.join(build, name))
        make_program(os.path.join(build, "bench", "npb", FAMILIES[0], "bin", "is"), WRONG)
        done = self.verify("--ranks", "1", "--ways", "plain", build=build)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("WRONG RESULT", done.stdout)

    def test_refuses_what_no_kernel_takes(self):
        done = self.verify("--ranks", "3")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)

    def test_speed_makes_a_table_of_pairs(self):
        for mpi in FAMILIES:
            make_program(os.path.join(self.folder, mpi, "bin", "ep.S.x"), OFFICIAL_EP)
        arguments = ["--build", BUILD, "--npb-dir", os.path.join(self.folder, "{mpi}"), "--kernels", "ep",
                     "--classes", "S", "--runs", "2", "--results", self.results]
        done = run("run_npb_speed.sh", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout)
        for ranks in (1, 2):
            # From the rate, with our own rounded time as its measure of the work: not exactly 0.5.
            self.assertRegex(done.stdout,
                             rf"(?m)^\| ep \| S \| {ranks}.* \|" + r" [\d.]+, 0\.(5|50\d|49\d) \|")
        self.assertEqual(len(results.read(self.results)), 2 * 2 * len(FAMILIES))
        again = run("run_npb_speed.sh", *arguments)
        self.assertEqual((again.returncode, len(results.read(self.results))), (0, 4 * len(FAMILIES)))

    def test_speed_refuses_an_official_program_that_fails(self):
        make_program(os.path.join(self.folder, FAMILIES[0], "bin", "ep.S.x"),
                     OFFICIAL_EP.replace("SUCCESSFUL", "UNSUCCESSFUL"))
        done = run("run_npb_speed.sh", "--build", BUILD, "--npb-dir", os.path.join(self.folder, "{mpi}"),
                   "--kernels", "ep", "--classes", "S", "--mpi", FAMILIES[0], "--ranks", "1")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("did not verify", done.stdout)


if __name__ == "__main__":
    if os.geteuid() != 0 or not FAMILIES:
        print("needs root, and an MPI")
        sys.exit(77)
    unittest.main()
