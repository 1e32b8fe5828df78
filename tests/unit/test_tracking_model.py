"""Protects the model that run_tracking.sh draws beside its measurements: equation (9) of seed 001's paper."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "tracking"))
import model


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


if __name__ == "__main__":
    unittest.main()
