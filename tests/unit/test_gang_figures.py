"""What bench/run_gang.sh makes of its looks at the nodes: overlaps, disagreement, parts of the time."""

import os
import sys
import unittest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import gang  # noqa: E402


def node(**jobs):
    """{job: record} from job=(slots, seconds scheduled)."""
    return {job: {"slots": slots, "scheduled_s": held_s} for job, (slots, held_s) in jobs.items()}


class Sets(unittest.TestCase):
    def test_a_common_slot_is_an_overlap(self):
        self.assertEqual(gang.overlapping({"n": node(a=([1, 2], 0), b=([3], 0), c=(None, 0))}), set())
        self.assertEqual(gang.overlapping({"n": node(a=([1, 2], 0), b=([2], 0))}), {("n", "a", "b")})
        self.assertEqual(gang.overlapping({"n": node(a=([1], 0)), "m": node(b=([1], 0))}), set())

    def test_nodes_that_say_different_things(self):
        self.assertEqual(gang.differing({"n": node(a=([1], 0)), "m": node(a=([1], 0), b=([2], 0))}), set())
        self.assertEqual(gang.differing({"n": node(a=([1], 0)), "m": node(a=(None, 0))}), {"a"})

    def test_how_long_something_lasts(self):
        looks = [(0, "a"), (1, "ab"), (4, "b"), (5, ""), (6, "a"), (8, "a")]
        self.assertEqual(gang.longest_s(looks, set), 3)
        self.assertEqual(gang.longest_s([], set), 0)


class Parts(unittest.TestCase):
    def test_times_with_the_same_jobs(self):
        two, three = node(a=([], 0), b=([], 0)), node(a=([], 0), b=([], 0), c=([], 0))
        looks = [(at_s, {"n": jobs}) for at_s, jobs in enumerate([two, two, three, three, three, two, node(a=([], 0))])]
        self.assertEqual([(stretch[0][0], stretch[-1][0]) for stretch in gang.steady(looks, "n", 1)], [(0, 1), (2, 4)])
        self.assertEqual(gang.steady(looks, "m", 1), [])

    def test_a_part_against_the_node_s_and_the_due(self):
        looks = [(10, {"n": node(a=([], 1), b=([], 1)), "m": node(b=([], 0), c=([], 0))}),
                 (20, {"n": node(a=([], 7), b=([], 5)), "m": node(b=([], 5), c=([], 5))})]
        found = gang.shares(looks, 10)
        self.assertEqual(len(found), 4)
        equal, due, seconds = max(found)  # a, which meets b alone
        self.assertAlmostEqual(equal, 10)
        self.assertAlmostEqual(due, 10)
        self.assertEqual(seconds, 10)
        self.assertAlmostEqual(min(found)[0], -10)
        self.assertAlmostEqual(min(found)[1], 40 - 100 / 3)  # b, which meets a and c


if __name__ == "__main__":
    unittest.main()
