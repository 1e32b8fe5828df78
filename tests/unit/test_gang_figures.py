"""What bench/run_gang.sh makes of its looks at the nodes: overlaps, disagreement, parts of the time."""

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import gang  # noqa: E402
from fair_parts import fair_parts  # noqa: E402


def node(at_s=0, **jobs):
    """{job: record} from job=(slots, seconds scheduled), by the node's clock at that time."""
    return {job: {"slots": slots, "scheduled_s": held_s, "registered_s": at_s} for job, (slots, held_s) in jobs.items()}


class Sets(unittest.TestCase):
    def test_a_common_slot_is_an_overlap(self):
        self.assertEqual(gang.overlapping({"n": node(a=([1, 2], 0), b=([3], 0), c=(None, 0))}), set())
        self.assertEqual(gang.overlapping({"n": node(a=([1, 2], 0), b=([2], 0))}), {("n", "a", "b")})
        self.assertEqual(gang.overlapping({"n": node(a=([1], 0)), "m": node(b=([1], 0))}), set())

    def test_nodes_that_say_different_things(self):
        self.assertEqual(gang.differing({"n": node(a=([1], 0)), "m": node(a=([1], 0), b=([2], 0))}), set())
        self.assertEqual(gang.differing({"n": node(a=([1], 0)), "m": node(a=(None, 0))}), {"a"})

    def test_another_change_is_not_the_same_difference(self):
        all_of, some, less = ([1, 2, 3], 0), ([1, 2], 0), ([1], 0)
        self.assertEqual(gang.unmended({"n": node(a=some), "m": node(a=some)}), set())
        first = {"n": node(a=all_of), "m": node(a=some)}
        mended = {**first, "o": node(a=some)}
        self.assertEqual(gang.unmended(first), {("a", frozenset({1, 2}))})
        self.assertEqual(gang.unmended(first), gang.unmended(mended))
        looks = [(0, first), (1, mended), (2, {"n": node(a=some), "m": node(a=less)}), (3, {"n": node(a=less)})]
        self.assertEqual(gang.longest_s(looks, gang.differing), 3)
        self.assertEqual(gang.longest_s(looks, gang.unmended), 2)

    def test_how_long_something_lasts(self):
        looks = [(0, "a"), (1, "ab"), (4, "b"), (5, ""), (6, "a"), (8, "a")]
        self.assertEqual(gang.longest_s(looks, set), 5)  # b, from the look at 0 to the one at 5
        self.assertEqual(gang.longest_s([], set), 0)

    def test_what_one_look_finds_may_have_lasted_from_the_one_before_to_the_one_after(self):
        self.assertEqual(gang.longest_s([(0, ""), (2, "a"), (5, ""), (6, "")], set), 5)
        self.assertEqual(gang.longest_s([(2, "a"), (5, "")], set), 3)
        self.assertEqual(gang.longest_s([(0, ""), (2, "a")], set), 2)
        self.assertEqual(gang.longest_s([(0, ""), (2, "a"), (5, "b"), (6, "")], set), 5)


class Nodes(unittest.TestCase):
    def test_a_daemon_that_has_ended_is_a_failure(self):
        def status(*daemons, jobs=None):
            return json.dumps({"nodes": [{"name": "n", "daemons": dict.fromkeys(daemons, {}), "jobs": jobs}]})
        self.assertEqual(gang.records(status("classd", "timerd", jobs=[{"job_id": "a"}])), {"n": {"a": {"job_id": "a"}}})
        self.assertEqual(gang.records(status("classd", "timerd")), {})  # it was slow to answer
        for daemons in ((), ("timerd",), ("classd",)):
            with self.assertRaisesRegex(SystemExit, "of n has ended by itself"):
                gang.records(status(*daemons))

    def test_a_job_that_crashes_at_its_end_is_not_verified(self):
        options = argparse.Namespace(build="/", kernel="cg", mpi="mpich", size="S", seconds=0.3, pause=0, shortest=0, longest=0)
        for status, good in ((0, True), (139, False)):
            results = []
            with mock.patch.object(gang, "LAB", ["sh", "-c", f"echo verified=yes; sleep 0.2; exit {status}"]):
                gang.run_jobs(["n"], options, random.Random(1), results)
            self.assertEqual({verified for verified, *_ in results}, {good})


class Verdict(unittest.TestCase):
    """By the exit status, of a run and of looks that were recorded."""

    @staticmethod
    def looks_for(seconds):
        ends = 0, 1 + seconds
        return [[at_s, {"n": node(at_s, a=([1], at_s / 2), b=([2] if at_s in ends else [1], at_s / 2))}] for at_s in range(2 + seconds)]

    def report(self, seconds, **results):
        options = argparse.Namespace(slot=100)  # rounds of 6 s
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return gang.report(self.looks_for(seconds), results.get("results", [(True, 0, "")]), options)

    def test_a_slot_in_common_for_longer_than_a_round(self):
        self.assertEqual(self.report(0), 0)
        self.assertEqual(self.report(5), 0)
        self.assertEqual(self.report(6), 1)

    def test_what_no_look_can_have_seen(self):
        for gap_s, status in (6, 0), (7, 1):
            looks = [[at_s, {"n": node(at_s, a=([1], at_s / 2), b=([2], at_s / 2))}] for at_s in (0, 1, 1 + gap_s)]
            with mock.patch.object(self, "looks_for", lambda _, looks=looks: looks):
                self.assertEqual(self.report(0), status)

    def test_where_no_two_jobs_with_slots_met_nothing_is_known(self):
        for b in None, []:
            looks = [[at_s, {"n": node(at_s, a=([1], at_s), b=(b, 0))}] for at_s in range(3)]
            with mock.patch.object(self, "looks_for", lambda _, looks=looks: looks):
                self.assertEqual(self.report(0), 1)

    def test_a_job_that_does_not_verify_and_none(self):
        self.assertEqual(self.report(0, results=[(True, 0, ""), (False, 1, "")]), 1)
        self.assertEqual(self.report(0, results=[]), 1)
        self.assertEqual(self.report(0, results=[(True, 0, "")] * 2), 0)

    def test_a_job_that_no_classd_was_seen_to_know(self):
        self.assertEqual(self.report(0, results=[(True, 0, "")] * 3), 1)

    def test_recorded_looks(self):
        for seconds, status in (5, 0), (6, 1):
            with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
                file.writelines(json.dumps(look) + "\n" for look in self.looks_for(seconds))
                file.flush()
                done = subprocess.run([sys.executable, os.path.join(BENCH, "micro", "gang.py"), "--slot", "100", "--looks", file.name],
                                      capture_output=True, text=True, check=False, timeout=60,
                                      env={**os.environ, "PYTHONPATH": BENCH})
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual("more than a round" in done.stderr, status == 1)


class Parts(unittest.TestCase):
    def test_times_with_the_same_jobs(self):
        two, three = node(a=([], 0), b=([], 0)), node(a=([], 0), b=([], 0), c=([], 0))
        looks = [(at_s, {"n": jobs}) for at_s, jobs in enumerate([two, two, three, three, three, two, node(a=([], 0))])]
        self.assertEqual([(stretch[0][0], stretch[-1][0]) for stretch in gang.steady(looks, "n", 1)], [(0, 1), (2, 4)])
        self.assertEqual(gang.steady(looks, "m", 1), [])

    def test_a_part_against_the_fair_one_and_the_due(self):
        looks = [(10, {"n": node(8, a=([], 1), b=([], 1)), "m": node(7, b=([], 0), c=([], 0))}),
                 (20, {"n": node(18, a=([], 7), b=([], 5)), "m": node(27, b=([], 10), c=([], 10))})]
        found = gang.shares(looks, 10)
        self.assertEqual(len(found), 4)
        fair, due, seconds = max(found)  # a, which meets b alone
        self.assertAlmostEqual(fair, 10)
        self.assertAlmostEqual(due, 10)
        self.assertEqual(seconds, 10)
        self.assertAlmostEqual(min(found)[0], -10)
        self.assertAlmostEqual(min(found)[1], 40 - 100 / 3)  # b, which meets a and c

    def test_how_far_sets_are_from_the_fair_part_since_the_last_change(self):
        half, rest, third = list(range(30)), list(range(30, 60)), list(range(20))
        both = {"n": node(a=(half, 0), b=(rest, 0)), "m": node(a=(half, 0))}
        late = {"n": node(a=(half, 0), b=(third, 0)), "m": node(a=(half, 0))}
        unequal = {"n": node(a=(half, 0), b=(rest, 0)), "m": node(a=(third, 0))}
        looks = [(0, {"n": node(a=([], 0))}), (10, late), (11, both), (14, both), (20, unequal)]
        found = gang.settling(looks, 0.1)
        self.assertEqual(sorted(found), [0, 40, 60])  # 0 and 10, 40, 100 slots; a job alone says nothing
        self.assertEqual([found[step][0] for step in (0, 40, 60)], [4, 2, 2])
        self.assertAlmostEqual(found[0][1], (50 / 3) / 4)
        self.assertAlmostEqual(found[0][2], 50 / 3)
        self.assertAlmostEqual(found[40][2], 0)
        self.assertAlmostEqual(found[60][2], 50 / 3)  # what its nodes have in common

    def test_a_whole_stay_against_what_was_fair_meanwhile(self):
        looks = [(0, {"n": node(0, a=([], 0))}), (10, {"n": node(10, a=([], 10), b=([], 0))}),
                 (20, {"n": node(20, a=([], 14), b=([], 6))}), (21, {"n": node(21, b=([], 7))})]
        a, b = gang.stays(looks, 1)
        self.assertAlmostEqual(a, 100 * (14 - (7.5 + 5)) / 20)  # its part goes from 1 to a half between two looks
        self.assertAlmostEqual(b, 100 * (7 - (5 + 0.75)) / 11)
        self.assertEqual(len(gang.stays(looks, 15)), 1)


class FairParts(unittest.TestCase):
    def test_of_one_node_each_has_the_same(self):
        self.assertEqual(fair_parts([{"a", "b", "c", "d"}, set()]), dict.fromkeys("abcd", 1 / 4))

    def test_three_that_meet_in_pairs_have_a_third(self):
        parts = fair_parts([{"a", "b"}, {"b", "c"}, {"c", "a"}])
        for job in "abc":
            self.assertAlmostEqual(parts[job], 1 / 3)

    def test_who_meets_few_has_what_others_cannot_use(self):
        parts = fair_parts([{"a", "b", "c"}, {"c", "d"}, {"e"}])
        for job, part in {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3, "d": 2 / 3, "e": 1}.items():
            self.assertAlmostEqual(parts[job], part)


class Looks(unittest.TestCase):
    def test_what_is_no_look_is_refused(self):
        look = [1.5, {"n": node(a=([1], 0))}]
        self.assertEqual(gang.checked(look), look)
        for other in ({"a": 1}, 5, [1, 2], [1, {"n": {"a": 3}}], ["x", {}]):
            with self.assertRaises(ValueError):
                gang.checked(other)


if __name__ == "__main__":
    unittest.main()
