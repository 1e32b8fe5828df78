"""Ratios of measurements that were taken in pairs, in several sittings; pure arithmetic.

A sitting is one start of the jobs. Rounds within a sitting share its luck (where memory came to lie,
which connection got which buffers), so rounds alone would promise more than they know: the interval
draws sittings first and rounds within them second.
"""

import random
import statistics

DRAWS = 400
COVERED = 0.90


def median_and_interval(sittings, seed=0):
    """(median, low, high) of the values of all sittings (a list of lists): the median, and the
    interval that holds it with 90 % confidence, by the two-stage bootstrap."""
    values = [value for sitting in sittings for value in sitting]
    draw = random.Random(seed)
    medians = sorted(
        statistics.median([value for sitting in draw.choices(sittings, k=len(sittings))
                           for value in draw.choices(sitting, k=len(sitting))])
        for _ in range(DRAWS))
    tail = int(DRAWS * (1 - COVERED) / 2)
    return statistics.median(values), medians[tail], medians[-1 - tail]


def verdict(ratio, low, high, target):
    """"" when the ratio keeps the target (a pair: "<=" or ">=", and a number), "?" when it does not but
    the interval reaches it, "!" when it is missed beyond doubt."""
    relation, limit = target
    if relation == ">=":
        ratio, low, high, limit = -ratio, -high, -low, -limit
    return "" if ratio <= limit else "?" if low <= limit else "!"
