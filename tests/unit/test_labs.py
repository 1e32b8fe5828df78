"""Measurements take down their own labs only: those of another session, by which theirs is refused, go on. No lab: one that
says what it was asked."""

import argparse
import os
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import asked  # noqa: E402
import gang  # noqa: E402
import gang_trace  # noqa: E402
import interleave  # noqa: E402
import shares  # noqa: E402
import standing  # noqa: E402
import two_jobs  # noqa: E402
from npbkit import TrialError, verify  # noqa: E402

# Refuses `up`, as where a lab of that name is another session's.
REFUSING = """#!/bin/sh
shift 2 # --name NAME
echo "$@" >>"$(dirname "$0")/asked"
[ "$1" != up ]
"""


class Refused(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.lab = os.path.join(self.folder, "lab")
        with open(self.lab, "w", encoding="ascii") as file:
            file.write(REFUSING)
        os.chmod(self.lab, 0o755)
        for module in (interleave, standing, two_jobs):
            self.patch(module, "BENCH", self.folder)
        for name in ("needs_root", "needs_mpi", "needs_program"):  # of what is never started here
            self.patch(asked, name, lambda *_: None)
        self.patch(verify, "LAB", self.lab)
        for module in (gang, shares):
            self.patch(module, "LAB", [self.lab, "--name", "x"])
        self.options = argparse.Namespace(build="/", slice="1s", gmet="1s", slot=200, record=None, nodes=2, cpus_per_node=1)

    def patch(self, module, name, value):
        patch = mock.patch.object(module, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, downs=1):
        """All labs that were asked for are this process's, and taken down as its own."""
        with open(os.path.join(self.folder, "asked"), encoding="utf-8") as file:
            asked = file.read().splitlines()
        self.assertEqual([line for line in asked if f"--owner {os.getpid()}" not in line], [])
        self.assertEqual([line.split()[0] for line in asked], ["up", *["down"] * downs])

    def test_jobs_in_turns(self):
        with self.assertRaises(interleave.Disturbed), interleave._labs([interleave.Variant("a"), interleave.Variant("b")], "/"):
            self.fail("there is no lab")
        self.check(2)

    def test_standing_jobs(self):
        with self.assertRaises(standing.Failed), standing.Lab("a", "/", 2, 1):
            self.fail("there is no lab")
        self.check()

    def test_two_jobs(self):
        with self.assertRaises(two_jobs.Failed), two_jobs.lab_up(two_jobs.Lab("a"), self.options, "timer.align=no"):
            self.fail("there is no lab")
        self.check()

    def test_a_picture_of_gang(self):
        with mock.patch.object(sys, "argv", ["gang_trace", "--out", self.folder]), self.assertRaises(SystemExit):
            gang_trace.main()
        self.check()

    def test_gang(self):
        with self.assertRaises(SystemExit):
            gang.watch(self.options)
        self.check()

    def test_shares(self):
        with mock.patch.object(sys, "argv", ["shares"]), self.assertRaises(SystemExit):
            shares.main()
        self.check()

    def test_trials(self):
        with self.assertRaises(TrialError), verify.Lab(self.options):
            self.fail("there is no lab")
        self.check()


if __name__ == "__main__":
    unittest.main()
