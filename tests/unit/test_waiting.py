"""bench/micro/waiting.py: which programs it takes, and what its ideals are. No MPI."""

import argparse
import os
import sys
import unittest
from unittest import mock

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


class Order(unittest.TestCase):
    def test_no_way_is_always_first(self):
        turns = [waiting.order(list(waiting.WAYS), 1, turn) for turn in range(5)]
        self.assertGreater(len({turn[0] for turn in turns}), 1)
        for turn in turns:
            self.assertEqual(sorted(turn), sorted(waiting.WAYS))
        self.assertEqual(turns[2], waiting.order(list(waiting.WAYS), 1, 2))


class Together(unittest.TestCase):
    def run_as(self, way, said):
        options = argparse.Namespace(program="x", mpi="mpich", timeout=20)
        waiting.together(["echo", said], [os.sched_getaffinity(0)], {**os.environ, "COSCHED_STATS": "1"}, way, options)

    def test_a_program_that_ran_without_the_library_measures_nothing(self):
        line = "cosched: job mpi-1 ranks 4 carrier off wait yield: messages 0"
        self.run_as("auto", line)
        self.run_as("auto", "half a line" + line)
        self.run_as("plain", "")
        with self.assertRaisesRegex(SystemExit, "^waiting: auto: x ran without the library"):
            self.run_as("auto", "cosched: job")


class Environment(unittest.TestCase):
    def test_without_daemons_also_where_there_are_some(self):
        options = argparse.Namespace(mpi="mpich", ranks=2, jobs=1, hogs=0, program="x", arguments=[], preloaded="l.so")
        seen = []
        with mock.patch.object(waiting, "together", lambda command, places, environment, *_: seen.append(environment)):
            waiting.run("auto", options)
        self.assertEqual(seen[0]["LD_PRELOAD"], "l.so")
        self.assertEqual(seen[0]["COSCHED_RUNTIME_DIR"], "/nonexistent")


class Ideals(unittest.TestCase):
    options = argparse.Namespace(ranks=4, jobs=1)

    def test_four_ranks_on_two_cpus_at_best_take_half_of_the_time_of_one(self):
        # (seconds, user mode, kernel mode)
        one, job = [(2.0, 1.9, 0.1)], [(1.5, 2.4, 0.2)]
        self.assertEqual(tuple(round(ratio, 6) for ratio in waiting.to_the_ideal(job, one, "one", 2, self.options)),
                         (1.5, 1.3))

    def test_one_on_each_cpu_uses_the_time_of_as_many(self):
        each, job = [(3.0, 3.8, 0.2)], [(1.5, 2.4, 0.2)]
        self.assertEqual(tuple(round(ratio, 6) for ratio in waiting.to_the_ideal(job, each, "each", 2, self.options)),
                         (1.0, 1.3))

    def test_two_jobs_have_twice_the_work(self):
        options = argparse.Namespace(ranks=2, jobs=2)
        one, jobs = [(2.0, 2.0, 0.0)], [(3.0, 6.0, 0.0)]
        self.assertEqual(waiting.to_the_ideal(jobs, one, "one", 2, options), (1.5, 1.5))

    def test_each_cpu_has_one(self):
        cpus = os.sched_getaffinity(0)
        self.assertEqual(waiting.places("each", self.options), [{cpu} for cpu in sorted(cpus)])
        self.assertEqual(waiting.places("one", argparse.Namespace(jobs=3)), [cpus])
        self.assertEqual(waiting.places("auto", argparse.Namespace(jobs=3)), [cpus] * 3)


if __name__ == "__main__":
    unittest.main()
