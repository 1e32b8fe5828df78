"""The commands of bench/ install and build when they have to, and take no argument for what it is not."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
SAYS_SO = '#!/bin/sh\necho "$(basename -- "$0")" "$@" >>"$RECORD"\n'
TOOLS = ("sh", "basename", "dirname", "grep", "sed")


class Entries(unittest.TestCase):
    """A copy of the entries, in which whatever they call only leaves a line in a record."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.record = os.path.join(self.top, "record")
        for name in os.listdir(os.path.join(ROOT, "bench")):
            if name.endswith(".sh"):
                self.copy("bench", name)
        self.program("tests/own_python.sh", "")
        self.program("tests/install_packages.sh")
        for name in ("cmake", "python3", "dpkg-query"):
            self.program("path/" + name)
        for name in TOOLS:
            os.symlink(shutil.which(name), os.path.join(self.top, "path", name))

    def copy(self, folder, name):
        os.makedirs(os.path.join(self.top, folder), exist_ok=True)
        shutil.copy(os.path.join(ROOT, folder, name), os.path.join(self.top, folder, name))

    def program(self, path, text=SAYS_SO):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_entry(self, entry, *arguments, **environment):
        """(status, standard output, standard error, lines of the record)"""
        open(self.record, "w", encoding="ascii").close()
        done = subprocess.run([os.path.join(self.top, entry), *arguments], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False, timeout=60,
                              env={"PATH": os.path.join(self.top, "path"), "RECORD": self.record, **environment})
        with open(self.record, encoding="ascii") as file:
            return done.returncode, done.stdout, done.stderr, file.read().splitlines()

    def builds(self, *arguments):
        lines = self.run_entry(*arguments)[3]
        self.assertIn(" ".join(arguments[1:]), lines[-1])  # the measuring program gets all of them
        return "cmake --build --preset release" in lines


class Help(unittest.TestCase):
    def test_usage_has_the_name_of_the_command(self):
        for entry in sorted(os.listdir(os.path.join(ROOT, "bench"))):
            with open(os.path.join(ROOT, "bench", entry), encoding="ascii") if entry.endswith(".sh") else io.StringIO() as file:
                program = re.search(r'python3 "\$root/(\S+\.py)"', file.read())
            if program is None:
                continue
            with self.subTest(entry=entry):
                done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, program[1]), "--help"], text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, timeout=60,
                                      env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "bench")})
                self.assertTrue(done.stdout.startswith(f"usage: {entry} "), done.stdout)


class Prepare(Entries):
    def test_a_build_help_or_a_plan_needs_none(self):
        self.assertTrue(self.builds("bench/run_nas.sh", "quick", "--runs", "3"))
        for word in ("--build=there", "-h", "--help", "--dry-run"):
            self.assertFalse(self.builds("bench/run_nas.sh", "quick", word), word)
        self.assertFalse(self.builds("bench/run_nas.sh", "quick", "--build", "there"))

    def test_what_stands_behind_a_program_is_the_programs(self):
        for entry, flag in (("bench/run_waiting.sh", "--hogs"), ("bench/run_alone.sh", "--against-itself")):
            for before in ([], ["--runs", "5"], ["-n", "2", flag], ["-n2", "--mpi=openmpi"], [flag, "--"]):
                for own in (["-h", "5"], ["--build", "x"], ["--dry-run"]):
                    with self.subTest(entry=entry, before=before, own=own):
                        self.assertTrue(self.builds(entry, *before, "./program", *own))
            for before in (["--build", "there"], [flag, "--build=there"], ["--runs", "5", "--help"], ["-h"]):
                with self.subTest(entry=entry, before=before):
                    self.assertFalse(self.builds(entry, *before, "./program", "x"))


class Caller(Entries):
    """One who works with the library."""

    def test_his_settings_are_not_what_is_measured(self):
        self.program("path/python3", '#!/bin/sh\necho "${LD_PRELOAD-none} ${COSCHED_WAIT-none} ${COSCHED_NAS_LAB-none}" >>"$RECORD"\n')
        for entry in ("bench/run_nas.sh", "bench/run_alone.sh"):
            with self.subTest(entry=entry):
                _, _, said, lines = self.run_entry(entry, "--build", "there", LD_PRELOAD="libm.so.6", COSCHED_WAIT="spin",
                                                   COSCHED_NAS_LAB="cosched-lab-x")
                self.assertEqual(lines[-1], "none none cosched-lab-x")
                self.assertIn(f"{os.path.basename(entry)}: COSCHED_WAIT is left out", said)

    def test_without_any_nothing_is_said(self):
        self.assertEqual(self.run_entry("bench/run_nas.sh", "--build", "there")[2], "")


class Switches(Entries):
    def test_a_build_is_used_as_it_is(self):
        self.program("there/bench/micro/switches")
        self.assertEqual(self.run_entry("bench/run_switches.sh", "--build", os.path.join(self.top, "there"))[3][-1], "switches")

    def test_help_and_nonsense_build_nothing(self):
        status, said, _, lines = self.run_entry("bench/run_switches.sh", "--help")
        self.assertEqual((status, lines), (0, []))
        self.assertIn("Usage: bench/run_switches.sh [--build DIR]", said)
        for words, told in ((["--bogus"], "--help"), (["5"], "--help"), (["--build"], "--help"), (["--build", "x", "y"], "--help"),
                            (["--build", "/nonexistent"], "build first")):
            with self.subTest(words=words):
                status, said, error, lines = self.run_entry("bench/run_switches.sh", *words)
                self.assertEqual((status, said, lines), (2, "", []))
                self.assertIn(told, error)


class Trace(Entries):
    def test_an_ended_one_takes_its_lab_down(self):
        self.program("bench/npb/mpich/bin/cg")
        self.program("ctl/coschedctl")
        self.program("bench/lab", '#!/bin/sh\nshift 2\necho "$@" >>"$RECORD"\n[ "$1" != mpiexec ] || exec sleep 60\n')
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(signal=number):
                open(self.record, "w", encoding="ascii").close()
                entry = subprocess.Popen([os.path.join(self.top, "bench/run_trace.sh"), "--build", self.top, "--out", self.top],
                                         env={**os.environ, "RECORD": self.record}, stdout=subprocess.DEVNULL,
                                         start_new_session=True)
                try:
                    self.wait_for("mpiexec", 2)
                    entry.send_signal(number)
                    self.assertEqual(entry.wait(timeout=30), 128 + number)
                finally:
                    os.killpg(entry.pid, signal.SIGKILL)  # the jobs, which a lab would have ended
                    entry.wait()
                self.assertEqual(self.asked()[-1], f"down --owner {entry.pid}")

    def test_nonsense_makes_no_lab(self):
        self.program("bench/lab")
        self.program("bench/npb/mpich/bin/cg")
        self.program("ctl/coschedctl")
        for tool in ("cut", "mkdir"):
            os.symlink(shutil.which(tool), os.path.join(self.top, "path", tool))
        for words, said in ((["--mpi", "lam"], "--mpi lam: must be mpich or openmpi"), (["--repeat", "0"], "--repeat 0: must be"),
                            (["--build", "/nonexistent"], "build first"), (["--mpi", "openmpi"], "build first"),
                            (["--out", self.record], "name another folder")):
            with self.subTest(words=words):
                status, _, error, lines = self.run_entry("bench/run_trace.sh", "--build", self.top, *words)
                self.assertEqual((status, lines), (2, []))
                self.assertIn("run_trace.sh: ", error)
                self.assertIn(said, error)

    def asked(self):
        with open(self.record, encoding="ascii") as file:
            return file.read().splitlines()

    def wait_for(self, word, times):
        end = time.monotonic() + 30
        while sum(line.startswith(word) for line in self.asked()) < times:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Report(Entries):
    def test_only_what_draws_is_installed(self):
        self.assertEqual(self.run_entry("bench/run_report.sh", "results")[3],
                         ["install_packages.sh packages_report.txt", "python3 -m report results"])
        self.program("path/gnuplot")
        self.assertEqual(self.run_entry("bench/run_report.sh", "results")[3], ["python3 -m report results"])

    def test_it_needs_python(self):
        os.unlink(os.path.join(self.top, "path/python3"))
        self.program("path/gnuplot")
        for asked in ([], ["--repetitions"]):
            self.assertEqual(self.run_entry("bench/run_report.sh", "results", *asked)[3],
                             ["install_packages.sh packages_report.txt"])

    def test_what_is_asked_of_a_folder_is_done_by_whoever_left_it(self):
        self.assertEqual(self.run_entry("bench/run_report.sh", "results", "--repetitions")[3],
                         ["python3 -m naskit.repetitions results --repetitions"])
        self.assertEqual(self.run_entry("bench/run_report.sh", "results", "--equal-speed")[3],
                         ["python3 -m naskit.equal_speed results --equal-speed"])
        self.assertEqual(self.run_entry("bench/run_report.sh", "a", "--against", "b")[3], ["python3 -m report a --against b"])
        self.program("path/gnuplot")
        for name in ("dcs", "dcs-openmpi"):
            folder = os.path.join(ROOT, "doc", "results", name)
            self.assertEqual(self.run_entry("bench/run_report.sh", folder)[3], [f"python3 -m dcskit {folder}"])
            self.assertEqual(self.run_entry("bench/run_report.sh", folder, "--reckon")[3],
                             [f"python3 -m dcskit.reckon {folder}", f"python3 -m dcskit {folder}"])
        self.assertEqual(self.run_entry("bench/run_report.sh", "results", "--reckon")[3],
                         ["python3 -m naskit.reckon results", "python3 -m report results"])


class Packages(Entries):
    def test_who_asks_before_anything_is_installed_is_told_what_to_install(self):
        self.copy("tests", "own_python.sh")
        os.unlink(os.path.join(self.top, "path/python3"))
        for entry in ("bench/run_nas.sh", "bench/run_pages.sh"):
            status, _, error, record = self.run_entry(entry, "--help")
            self.assertEqual((status, record), (1, []))
            self.assertEqual(error, f"{os.path.basename(entry)}: there is no python3; install it: apt-get install python3\n")

    def test_where_there_is_no_apt_get_the_remedy_is_said(self):
        for name in ("install_packages.sh", "packages_report.txt"):
            self.copy("tests", name)
        status, _, error, _ = self.run_entry("tests/install_packages.sh", "packages_report.txt")
        self.assertEqual(status, 1)
        self.assertRegex(error, r"\A[^\n]*no apt-get here: install what corresponds to \S*packages_report.txt; .*--build DIR then\n\Z")
        self.program("path/dpkg-query", "#!/bin/sh\nprintf installed\n")
        self.assertEqual(self.run_entry("tests/install_packages.sh", "packages_report.txt")[0::2], (0, ""))
        self.program("path/dpkg-query", "#!/bin/sh\nexit 1\n")
        for name in ("packages_build.txt", "packages.txt"):
            self.copy("tests", name)
        self.assertRegex(self.run_entry("tests/install_packages.sh")[2],
                         r"no apt-get here: install what corresponds to \S*packages_build.txt \S*packages.txt; to bench")
        status, _, error, _ = self.run_entry("tests/install_packages.sh", "packages_reports.txt")
        self.assertEqual(status, 2)
        self.assertRegex(error, r"\A[^\n]*no list \S*packages_reports.txt to read[^\n]*\n\Z")

    def test_who_may_not_install_is_told(self):
        for name in ("install_packages.sh", "packages_report.txt"):
            self.copy("tests", name)
        self.program("path/dpkg-query", "#!/bin/sh\nexit 1\n")
        self.program("path/apt-get")
        self.program("path/id", "#!/bin/sh\necho 1000\n")
        status, _, error, record = self.run_entry("tests/install_packages.sh", "packages_report.txt")
        self.assertEqual((status, record), (1, []))
        self.assertIn("only root may install these, and there is no sudo", error)
        self.program("path/sudo")
        status, _, error, record = self.run_entry("tests/install_packages.sh", "packages_report.txt")
        self.assertEqual((status, record[0]), (0, "sudo apt-get update"))


if __name__ == "__main__":
    unittest.main()
