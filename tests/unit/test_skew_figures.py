"""What bench/run_skew.sh makes of the nodes' recordings: which switches count, and by how much they are apart."""

import argparse
import os
import sys
import types
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "micro")]

import noticing  # noqa: E402
import skew  # noqa: E402
import two_jobs  # noqa: E402

SLOT = 100_000_000
MS = 1_000_000
IDLE, GRANTED = 4, 6


def slot_begins(number, late_ns, *scheduled):
    """Events of one node at the beginning of a slot."""
    at_ns = number * SLOT + late_ns
    return [[at_ns, "0", skew.SWITCH, 0], [at_ns, "z", IDLE, 0],
            *([at_ns, job, skew.SCHEDULED, 0] for job in scheduled)]


def node(late_ns, last=10, scheduled=lambda number: "ab"[number % 2]):
    return [event for number in range(1, last + 1)
            for event in slot_begins(number, late_ns, scheduled(number))]


class Switches(unittest.TestCase):
    def test_only_what_a_slot_begins_with(self):
        events = slot_begins(7, 5, "a") + [[7 * SLOT + 9, "b", GRANTED, 0], [7 * SLOT + 9, "b", skew.SCHEDULED, 0]]
        self.assertEqual(skew.switches(events, SLOT), {(7, "a"): 7 * SLOT + 5})

    def test_a_tick_may_be_early(self):
        self.assertEqual(list(skew.switches(slot_begins(7, -MS, "a"), SLOT)), [(7, "a")])


class Figures(unittest.TestCase):
    def of(self, *nodes):
        return skew.figures([skew.switches(events, SLOT) for events in nodes], SLOT)

    def test_apart_and_late(self):
        skews, late, alone = self.of(node(MS), node(3 * MS))
        self.assertEqual((skews, late, alone), ([2 * MS] * 8, [3 * MS] * 8, 0))

    def test_only_while_all_record(self):
        skews, _, alone = self.of(node(0), node(0, last=6))
        self.assertEqual((len(skews), alone), (4, 0))

    def test_another_choice_is_alone(self):
        _, _, alone = self.of(node(0), node(0, scheduled=lambda number: "a" if number == 5 else "ab"[number % 2]))
        self.assertEqual(alone, 2)
        skews, _, alone = self.of(node(0), node(0, scheduled=lambda number: "abc"[number % 3]))
        self.assertGreater(alone, 0)

    def test_a_node_without_switches(self):
        with self.assertRaises(two_jobs.Failed):
            self.of(node(0), [])
        with self.assertRaises(two_jobs.Failed):
            skew.line("1s", [], [], 3)

    def test_quantiles(self):
        self.assertEqual([skew.quantile(list(range(1, 101)), part) for part in (0, 0.5, 0.99, 1)], [1, 50, 99, 100])
        self.assertEqual(skew.quantile([7], 0.99), 7)


class Slots(unittest.TestCase):
    def test_lengths(self):
        self.assertEqual([skew.slot_ns(text) for text in ("100ms", "1s")], [SLOT, 10 * SLOT])
        for bad in ("99ms", "0s", "1", "s", "-1s", "1.5s"):
            with self.assertRaises(argparse.ArgumentTypeError):
                skew.slot_ns(bad)


class Phase(unittest.TestCase):
    """Of the nodes' slices, where run_noticing.sh has them begin at different moments."""

    @staticmethod
    def nodes(later_ns):
        return [[[number * 1000 * MS + late_ns, "0", skew.SWITCH, 0] for number in range(10)] for late_ns in (0, later_ns)]

    def test_is_by_how_much_the_second_node_is_later(self):
        for later_ns in (0, 400 * MS, 990 * MS):
            self.assertEqual(noticing.phase_ns(self.nodes(later_ns)), (later_ns, 1000 * MS, 9000 * MS))

    def test_just_before_a_slice_is_near_just_after_it(self):
        first, second = self.nodes(0)
        for event, late_ns in zip(second, [1 * MS, -2 * MS] * 5):
            event[0] += late_ns
        phase_ns = noticing.phase_ns([first, second])[0]
        self.assertLessEqual(min(phase_ns, 1000 * MS - phase_ns), 2 * MS)

    def shifted(self, starting_s):
        """How often timerd was started again, where that takes so long from time to time, and where node1's slices began then; node0's
        begin with each second, and to record takes a little more than four of them."""
        clock = types.SimpleNamespace(now_s=5.2, starts=0, phase_s=0.9)

        def pass_by(seconds):
            clock.now_s += seconds

        def run(*words):
            if words[:2] == ("daemons", "start"):
                pass_by(starting_s[clock.starts])
                clock.starts += 1
                clock.phase_s = clock.now_s % 1

        def recorded(slices):
            pass_by(slices + 0.37)
            begun_ns = int(clock.now_s) * 1000 * MS
            return mock.Mock(**{"phase_ns.return_value": (clock.phase_s * 1000 * MS, 1000 * MS, begun_ns)})

        with mock.patch.object(noticing, "time", sleep=pass_by, time_ns=lambda: clock.now_s * 1000 * MS):
            noticing.shift_timer(mock.Mock(run=run), recorded)
        return clock.starts, clock.phase_s

    def test_the_timer_is_started_again_until_slices_begin_as_they_should(self):
        for starting_s in ([0.01], [0.45, 0.47], [0.7, 0.68], [0.3, 0.6, 0.62]):
            starts, phase_s = self.shifted(starting_s)
            self.assertEqual(starts, len(starting_s))
            self.assertAlmostEqual(phase_s, noticing.SHIFT, delta=noticing.NEAR)
        with self.assertRaisesRegex(two_jobs.Failed, "do not begin when they should"):
            self.shifted([0.3, 0.6, 0.3, 0.6, 0.3, 0.6])


if __name__ == "__main__":
    unittest.main()
