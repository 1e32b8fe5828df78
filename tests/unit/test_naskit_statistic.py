"""bench/naskit/statistic: Student's t against the published tables, the bootstrap against counting all
resamples."""

import itertools
import math
import os
import statistics
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench"))

from naskit import statistic  # noqa: E402


class Student(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self):
        """Two-sided, as every textbook prints them."""
        for freedom, confidence, value in (
                (1, 0.9, 6.314), (2, 0.9, 2.920), (3, 0.9, 2.353), (4, 0.9, 2.132), (5, 0.9, 2.015),
                (9, 0.9, 1.833), (10, 0.9, 1.812), (30, 0.9, 1.697), (120, 0.9, 1.658),
                (1, 0.95, 12.706), (4, 0.95, 2.776), (7, 0.95, 2.365), (29, 0.95, 2.045),
                (2, 0.99, 9.925), (15, 0.99, 2.947)):
            with self.subTest(freedom=freedom, confidence=confidence):
                self.assertAlmostEqual(statistic.t_quantile(freedom, confidence), value, delta=6e-4)

    def test_two_degrees_have_a_closed_form(self):
        for t in (0.5, 1.0, 3.0):
            self.assertAlmostEqual(statistic.t_within(t, 2), t / math.sqrt(2 + t * t), 12)

    def test_becomes_the_normal_distribution(self):
        self.assertAlmostEqual(statistic.t_quantile(100000), 1.6449, 4)

    def test_interval_of_a_known_sample(self):
        """Mean 5, standard deviation 2, n = 4: 5 -+ 2.353 x 2 / 2."""
        values = [5 - math.sqrt(3) * math.sqrt(2), 5, 5, 5 + math.sqrt(3) * math.sqrt(2)]
        self.assertAlmostEqual(statistics.stdev(values), 2)
        low, high = statistic.t_interval(values)
        self.assertAlmostEqual(low, 5 - 2.353363, 5)
        self.assertAlmostEqual(high, 5 + 2.353363, 5)

    def test_one_value_has_none(self):
        self.assertIsNone(statistic.t_interval([5]))
        self.assertIsNone(statistic.bootstrap_interval([5]))


class Bootstrap(unittest.TestCase):
    def by_counting(self, values):
        found = {}
        for sample in itertools.product(values, repeat=len(values)):
            middle = statistics.median(sample)
            found[middle] = found.get(middle, 0) + 1 / len(values) ** len(values)
        return found

    def test_distribution_is_that_of_all_resamples(self):
        for values in ([1, 5], [1, 2, 10], [3, 1, 4, 1.5], [9, 2, 6, 5, 3.5], [2, 7, 1, 8, 2.5, 8.5],
                       [4, 4, 1, 4]):
            exact = {}
            for middle, probability in statistic.median_distribution(values):
                exact[middle] = exact.get(middle, 0) + probability
            counted = self.by_counting(values)
            with self.subTest(values=values):
                self.assertAlmostEqual(sum(exact.values()), 1)
                for middle in set(exact) | set(counted):
                    self.assertAlmostEqual(exact.get(middle, 0), counted.get(middle, 0), 9)

    def test_interval_holds_the_median_and_leaves_an_outlier_out(self):
        low, high = statistic.bootstrap_interval([10, 11, 12, 13, 14, 15, 16, 17, 1000])
        self.assertLessEqual(low, 14)
        self.assertGreaterEqual(high, 14)
        self.assertLess(high, 1000)

    def test_leaves_five_percent_on_each_side(self):
        """Of five values the middle of a resample is the lowest in 5.8 % of all cases."""
        self.assertEqual(statistic.bootstrap_interval([1, 2, 3, 4, 5]), [1, 5])
        self.assertEqual(statistic.bootstrap_interval([1, 2, 3, 4, 5], 0.8), [2, 4])

    def test_is_symmetric(self):
        values = [1, 2, 4, 8, 16, 32, 64]
        low, high = statistic.bootstrap_interval(values)
        mirrored = statistic.bootstrap_interval([-value for value in values])
        self.assertEqual(mirrored, [-high, -low])


    def test_of_hundreds_of_values(self):
        # Binomial coefficients and powers are beyond the range of floats there.
        for count in (257, 258, 300):
            values = [float(value) for value in range(count)]
            distribution = statistic.median_distribution(values)
            self.assertAlmostEqual(sum(chance for _, chance in distribution), 1)
            low, high = statistic.bootstrap_interval(values)
            # The median of n uniform values has the deviation n / 2 sqrt(n).
            for end, side in ((low, -1), (high, 1)):
                self.assertAlmostEqual(end, (count - 1) / 2 + side * 1.645 * count ** 0.5 / 2, delta=1.5)


class Description(unittest.TestCase):
    def test_leaves_out_what_is_not_known(self):
        found = statistic.describe([2.0, None, 4.0])
        self.assertEqual((found["n"], found["median"], found["mean"]), (2, 3.0, 3.0))
        self.assertIsNone(statistic.describe([None, None]))

    def test_one_value_has_no_interval(self):
        self.assertEqual(statistic.describe([3.0]),
                         {"n": 1, "median": 3.0, "mean": 3.0, "t": None, "bootstrap": None})

    def test_equal_values_have_an_interval_of_no_width(self):
        found = statistic.describe([3.0, 3.0, 3.0])
        self.assertEqual((found["t"], found["bootstrap"]), ([3.0, 3.0], [3.0, 3.0]))


if __name__ == "__main__":
    unittest.main()
