"""Protects the model that run_tracking.sh draws beside its measurements: equation (9) of seed 001's paper; and whom a
measurement that is ended must not leave behind."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "tracking")]
import model
import tracking
from labkit import cgroups


class Equation9(unittest.TestCase):
    def test_the_only_cpu_is_the_schedulers(self):
        self.assertEqual(model.suspend_time(15, 1, 10, 5), 0)

    def test_one_process_stops_within_half_a_tick(self):
        self.assertEqual(model.suspend_time(1, 4, 10, 5), 5)
        self.assertEqual(model.suspend_time(1, 4, 10, 2), 6)  # seen at the third look
        self.assertEqual(model.suspend_time(1, 4, 10, 50), 50)

    def test_more_processes_than_cpus(self):
        # k = 5 on 4 CPUs: 3 of 5 are found running, and come again after 5/4 - 1/2 ticks, 7.5 ms: two looks.
        self.assertAlmostEqual(model.suspend_time(5, 4, 10, 5) - model.suspend_time(4, 4, 10, 5), 3 / 5 * 2 * 5)

    def test_linear_in_long_intervals(self):
        for processes in (3, 7, 15):
            self.assertAlmostEqual(model.suspend_time(processes, 4, 10, 100), 2 * model.suspend_time(processes, 4, 10, 50))

    def test_more_processes_take_longer(self):
        times = [model.suspend_time(processes, 2, 4, 10) for processes in (3, 7, 15)]
        self.assertEqual(times, sorted(times))


class Drawn(unittest.TestCase):
    def test_a_quote_in_the_files_name_is_one_of_its_text(self):
        self.assertIn("set output '/tmp/it''s.svg'\n", tracking.script([mock.Mock(retry_ms=1)], 2, 4, "/tmp/it's.svg"))


class Ended(unittest.TestCase):
    """On folders that stand for cgroups, and so cannot be removed."""

    def test_trees_that_are_left_are_ended_stopped_and_frozen_ones_too(self):
        with tempfile.TemporaryDirectory() as top:
            for hierarchy in ("cpu", "freezer"):
                os.makedirs(os.path.join(top, hierarchy, f"cosched-bench-tracking-{os.getpid()}", "a"))
            process = subprocess.Popen(["sleep", "1000"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            process.send_signal(signal.SIGSTOP)
            group = os.path.join(top, "freezer", f"cosched-bench-tracking-{os.getpid()}", "a")
            for name, text in (("cgroup.procs", f"{process.pid}\n"), ("freezer.state", "FROZEN\n")):
                with open(os.path.join(group, name), "w", encoding="ascii") as file:
                    file.write(text)
            with mock.patch.object(cgroups.time, "sleep"), mock.patch.object(tracking.sys, "stderr"):
                tracking.remove_root(top)
            self.assertEqual(process.wait(timeout=20), -signal.SIGKILL)
            with open(os.path.join(group, "freezer.state"), encoding="ascii") as file:
                self.assertEqual(file.read(), "THAWED")
            self.assertEqual(os.listdir(os.path.join(top, "cpu")), [])


if __name__ == "__main__":
    unittest.main()
