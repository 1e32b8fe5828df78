"""The clock of a job that takes turns: it counts running time between two marks of the job's output."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import interleave  # noqa: E402

VERIFIED = "NPB kernel=cg class=S ranks=2 repeat=4 seconds=1 mops=1 verified=yes"


class ClockTest(unittest.TestCase):
    def setUp(self):
        self.output = tempfile.TemporaryFile()
        self.addCleanup(self.output.close)
        self.now = 100.0
        patch = mock.patch.object(interleave.time, "monotonic", lambda: self.now)
        patch.start()
        self.addCleanup(patch.stop)
        self.clock = interleave.Clock(self.output)

    def say(self, line):
        self.output.write(f"{line}\n".encode())
        self.output.flush()

    def turn(self, seconds, line=None):
        """Runs for so long, says the line in the middle of it, and stops for a while."""
        self.clock.resume()
        self.now += seconds / 2
        if line:
            self.say(line)
        self.clock.look()
        self.now += seconds / 2
        self.clock.look()
        self.clock.stop()
        self.now += 1000

    def test_counts_running_time_between_the_marks(self):
        self.say("Run 1: 0.1 s")
        self.clock.start_after = 2
        self.turn(10)
        self.turn(10, "Run 2: 0.1 s")
        self.assertEqual(self.clock.counted_s, 0)
        self.turn(10, "Run 3: 0.1 s")
        self.assertAlmostEqual(self.clock.counted_s, 5)
        self.turn(10, "Run 4: 0.1 s")
        self.assertFalse(self.clock.over)
        self.turn(10, VERIFIED)
        self.assertTrue(self.clock.over)
        self.assertAlmostEqual(self.clock.counted_s, 20)
        self.turn(10)
        self.assertAlmostEqual(self.clock.counted_s, 20)

    def test_does_not_end_with_a_result_that_is_wrong(self):
        self.clock.start_after = 0
        self.turn(10, "Run 1: 0.1 s")
        self.turn(10, VERIFIED.replace("yes", "no"))
        self.assertFalse(self.clock.over)

    def test_looking_does_not_move_the_place_where_the_job_writes(self):
        self.say("Run 1: 0.1 s")
        self.assertEqual(self.clock.marks(), 1)
        self.say("Time step   20")
        self.assertEqual(self.clock.text(), "Run 1: 0.1 s\nTime step   20\n")


class LibraryTest(unittest.TestCase):
    """Who was to have the library is known to the daemons of all its nodes, or nothing is measured."""

    def check(self, jobs, *options):
        job = interleave.Job.__new__(interleave.Job)
        job.variant = interleave.Variant("with", *options)
        nodes = [{"name": name, "jobs": jobs} for name in ("node0", "node1")]
        done = subprocess.CompletedProcess([], 0, json.dumps({"nodes": nodes}))
        with mock.patch.object(interleave.subprocess, "run", return_value=done):
            job.check_library()

    def test_who_is_known_is_measured(self):
        self.check([{"job_id": "a"}], "--preload")

    def test_who_is_not_is_not(self):
        with self.assertRaisesRegex(interleave.Disturbed, "with: classd of node0 knows 0 of 1 jobs"):
            self.check([], "--preload")

    def test_nobody_asks_where_there_is_no_library(self):
        self.check([])


if __name__ == "__main__":
    unittest.main()
