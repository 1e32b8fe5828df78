"""Whoever asks a measurement for what cannot be is told in one line, before anything is measured, with what to do."""

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))
sys.path[:0] = [BENCH]

import asked  # noqa: E402

NOWHERE = "/nonexistent/x"


class Checks(unittest.TestCase):
    def refused(self, check, *arguments):
        parser = argparse.ArgumentParser(prog="run_it.sh")
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            check(parser, *arguments)
        self.assertEqual(ended.exception.code, 2)
        self.assertRegex(said.getvalue(), r"\Arun_it\.sh: [^\n]+\n\Z")
        return said.getvalue()

    def test_numbers_have_a_least(self):
        self.assertEqual((asked.at_least(1)("3"), asked.at_least(0, float)("0.5")), (3, 0.5))
        for number, text in ((asked.at_least(1), "0"), (asked.at_least(1), "1.5"), (asked.at_least(0, float), "nan"),
                             (asked.at_least(0, float), "inf"), (asked.at_least(1), "x"), (asked.at_least(0, float), "-1")):
            with self.subTest(text=text), self.assertRaisesRegex(argparse.ArgumentTypeError, f"^{text}: must be .* at least"):
                number(text)

    def test_a_file_that_cannot_be_written_is_refused_before_there_is_anything_to_write(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            self.assertEqual(asked.new_file(path), path)
            self.assertFalse(os.path.exists(path))
            for bad in (folder, NOWHERE):
                with self.assertRaises(argparse.ArgumentTypeError):
                    asked.new_file(bad)

    def test_what_is_missing_is_named_with_its_remedy(self):
        with mock.patch.object(os, "geteuid", return_value=1000):
            self.assertIn("run it as root", self.refused(asked.needs_root))
        with mock.patch.dict(os.environ, {"PATH": NOWHERE}):
            self.assertIn("mpiexec.mpich is not there: install it", self.refused(asked.needs_mpi, "mpich"))
        self.assertIn(f"{NOWHERE}: there is no such program: build first", self.refused(asked.needs_program, NOWHERE))
        asked.needs_program(argparse.ArgumentParser(), sys.executable)
        with tempfile.NamedTemporaryFile() as file:
            self.assertIn("name another folder", self.refused(asked.new_folder, os.path.join(file.name, "x")))


class Commands(unittest.TestCase):
    """Of each entry the program behind it, as it would be called."""

    def test_nonsense_is_one_error(self):
        for program, *words in (
                ("micro/alone.py", "--runs", "0"), ("micro/alone.py", "--launches", "-1"), ("micro/costs.py", "--rounds", "0"),
                ("micro/costs.py", "--json", NOWHERE), ("micro/gang.py", "--seconds", "0"),
                ("micro/gang.py", "--shortest", "9", "--longest", "3"), ("micro/gang.py", "--looks", __file__),
                ("micro/gang_trace.py", "--slot", "0"), ("micro/idle.py", "--runs", "0"),
                ("micro/interactive.py", "--seconds", "0"), ("micro/noticing.py", "--seconds", "nan"),
                ("micro/pages.py", "--mib", "999999999"), ("micro/pages.py", "--runs", "0"), ("micro/periods.py", "--warm-up", "-1"),
                ("micro/shares.py", "--jobs", "0"), ("micro/shares.py", "--json", NOWHERE), ("micro/skew.py", "cg"),
                ("micro/waiting.py", "--runs", "0"), ("micro/waiting.py", "--build", "/", sys.executable),
                ("daemon/costs.py", "--count", "0"), ("daemon/costs.py", "--json", NOWHERE),
                ("tracking/tracking.py", "--switches", "0"), ("tracking/tracking.py", "--svg", NOWHERE)):
            with self.subTest(program=program, words=words):
                self.refused(program, *words)

    def test_a_build_that_is_none_is_refused_before_a_lab_is_made(self):
        for program in ("micro/alone.py", "micro/gang.py", "micro/gang_trace.py", "micro/idle.py", "micro/interactive.py",
                        "micro/noticing.py", "micro/periods.py", "micro/shares.py", "micro/skew.py", "micro/waiting.py",
                        "daemon/costs.py", "tracking/tracking.py"):
            with self.subTest(program=program):
                self.assertRegex(self.refused(program, "--build", NOWHERE), r"build first|needs root|is not there")

    def refused(self, program, *words):
        done = subprocess.run([sys.executable, "-B", os.path.join(BENCH, program), *words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": BENCH})
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        last = done.stderr.splitlines()[-1]
        self.assertRegex(last, r"^run_\w+\.sh: ")
        self.assertNotIn("Traceback", done.stderr)
        return last


if __name__ == "__main__":
    unittest.main()
