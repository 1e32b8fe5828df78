"""bench/micro/waiting.py: which programs it takes. No MPI."""

import os
import sys
import unittest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import waiting  # noqa: E402

OURS = "NPB kernel=cg class=W verified={}\n"
OFFICIAL = " CG Benchmark Completed.\n Verification    =               {}\n"


class Results(unittest.TestCase):
    def test_a_program_of_the_users_own_is_taken(self):
        self.assertTrue(waiting.is_right(""))
        self.assertTrue(waiting.is_right("temperature 3.5\nunverified guess, verified=no\n"))

    def test_a_kernel_that_did_not_verify_is_not(self):
        for form, good, bad in ((OURS, "yes", "no"), (OFFICIAL, "SUCCESSFUL", "UNSUCCESSFUL")):
            self.assertTrue(waiting.is_right(form.format(good)))
            self.assertFalse(waiting.is_right(form.format(bad)))
            self.assertFalse(waiting.is_right(form.format(good) + form.format(bad)))


if __name__ == "__main__":
    unittest.main()
