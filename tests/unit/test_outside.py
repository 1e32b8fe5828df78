"""What tests/outside takes for an application's results, and when two runs agree."""

import os
import sys
import unittest

OUTSIDE = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "outside"))
sys.path.insert(0, OUTSIDE)

import results  # noqa: E402
from catalogue import APPLICATIONS  # noqa: E402


class Picked(unittest.TestCase):
    def test_whole_lines_or_their_groups(self):
        text = "  energy  -1.5  after 3 s\nnoise\nenergy  -2.5  after 4 s\n"
        self.assertEqual(results.pick(r"energy .*", text), ["energy  -1.5  after 3 s", "energy  -2.5  after 4 s"])
        self.assertEqual(results.pick(r"energy\s+(\S+)", text), ["-1.5", "-2.5"])


class Compared(unittest.TestCase):
    def test_numbers_to_within_the_tolerance(self):
        self.assertTrue(results.same("energy = -76.0107465 Ha", "energy = -76.0107466  Ha", 1e-8))
        self.assertFalse(results.same("energy = -76.0107465 Ha", "energy = -76.0107565 Ha", 1e-8))
        self.assertTrue(results.same("x 1.0D-12", "x 3.0D-12", 1e-8))

    def test_words_and_count_of_numbers(self):
        self.assertFalse(results.same("PASSED 3", "FAILED 3", 1.0))
        self.assertFalse(results.same("at 1 2", "at 1", 1.0))

    def test_without_tolerance_every_digit(self):
        self.assertFalse(results.same("sum 1.0", "sum 1.00000001", 0.0))

    def test_what_is_missing_differs(self):
        self.assertEqual(results.differences(["a 1", "b 2"], ["a 1"], 0.0), ["2 results are now 1"])
        self.assertEqual(results.differences(["a 1"], ["a 2"], 0.0), ["'a 1' is now 'a 2'"])


class Catalogue(unittest.TestCase):
    def test_names_are_told_apart_and_our_inputs_are_there(self):
        names = [application.name for application in APPLICATIONS]
        self.assertEqual(len(names), len(set(names)))
        for application in APPLICATIONS:
            for path in application.inputs(os.path.join(OUTSIDE, "inputs")):
                if path.startswith(OUTSIDE):
                    self.assertTrue(os.path.exists(path), path)


if __name__ == "__main__":
    unittest.main()
