"""The judge of the fault campaign: what it must complain of, and what it must not."""

import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "faults"), os.path.join(os.path.dirname(TESTS), "bench")]

from faultkit.watch import Judge  # noqa: E402


class JudgeTest(unittest.TestCase):
    """Time is in slices here."""

    def setUp(self):
        self.judge = Judge(1.0, tolerance_s=0.5)
        self.now = 0.0

    def hold(self, slices, limited="a", classd=True, timerd=True, refusing=False, classes="ab"):
        """One state for so long; `limited` and `classes` are lists of classes by their letters."""
        end = self.now + slices
        while self.now <= end:
            self.judge.observe(self.now, classd, timerd, {name: name in limited for name in classes},
                               refusing)
            self.now += 0.0625

    def assert_blames(self, *names):
        self.assertEqual(sorted(text.split()[0].rstrip(",") for text in self.judge.complaints),
                         sorted(names))

    def test_turns_are_fine(self):
        for _ in range(10):
            self.hold(1, "a")
            self.hold(1, "b")
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.waited_s, 1, delta=0.1)

    def test_a_limit_that_timerd_lifts_in_time_is_fine(self):
        self.hold(1, "a")
        self.hold(2, "a", classd=False)
        self.hold(9, "", classd=False)
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.orphaned_s, 2, delta=0.1)

    def test_a_limit_that_timerd_does_not_lift_is_blamed_once(self):
        self.hold(1, "a")
        self.hold(9, "a", classd=False)
        self.assert_blames("a")

    def test_every_class_is_judged(self):
        self.hold(9, "ab", classd=False)
        self.assert_blames("a", "b")

    def test_it_counts_from_classds_end(self):
        self.hold(3, "a")
        self.hold(2, "a", classd=False)
        self.assert_blames()

    def test_without_anybody_it_only_counts(self):
        self.hold(9, "a", classd=False, timerd=False)
        self.assert_blames()
        self.assertAlmostEqual(self.judge.peaks.unattended_s, 9, delta=0.1)

    def test_timerd_has_two_slices_from_its_own_start(self):
        self.hold(9, "a", classd=False, timerd=False)
        self.hold(2, "a", classd=False)
        self.assert_blames()
        self.hold(1, "a", classd=False)
        self.assert_blames("a")

    def test_a_living_classd_starves_nobody(self):
        self.hold(5, "a")
        self.assert_blames()
        self.hold(3, "a")
        self.assert_blames("a")

    def test_the_only_job_waits_for_nobody(self):
        self.hold(5, "a", classes="a")
        self.assert_blames("a")

    def test_nobody_is_blamed_for_what_the_kernel_refuses(self):
        self.hold(9, "a", refusing=True)
        self.assert_blames()
        self.hold(9, "a")
        self.assert_blames("a")

    def test_a_new_class_starts_anew(self):
        for _ in range(3):
            self.hold(4, "a")
            self.hold(0.1, "", classes="b")
        self.assert_blames()


if __name__ == "__main__":
    unittest.main()
