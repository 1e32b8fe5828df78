"""Medians, means and their confidence intervals. No system call, no random number in here."""

import functools
import math
import statistics

CONFIDENCE = 0.9


def t_within(t, freedom):
    """Probability that Student's t of `freedom` degrees (an integer) lies within -t and t: the finite
    series of Abramowitz & Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


@functools.lru_cache(maxsize=None)
def t_quantile(freedom, confidence=CONFIDENCE):
    """The t within which, on both sides of 0, `confidence` of the distribution lies."""
    low, high = 0.0, 1.0
    while t_within(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if t_within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_interval(values, confidence=CONFIDENCE):
    """Student's interval of the mean as [low, high]; None with fewer than two values."""
    if len(values) < 2:
        return None
    centre = statistics.fmean(values)
    half = (t_quantile(len(values) - 1, confidence) * statistics.stdev(values)
            / math.sqrt(len(values)))
    return [centre - half, centre + half]


def _at_most(count, rank, i):
    """Probability that of `count` draws from as many values at least `rank` are among the first i. In whole numbers up
    to the division: of some hundred values they leave the range of floats."""
    ways = sum(math.comb(count, k) * i ** k * (count - i) ** (count - k) for k in range(rank, count + 1))
    return ways / count ** count


def _middle(ordered):
    """Where the middle value of a resample of an odd number of values lies: [(value, probability)]."""
    count, rank = len(ordered), (len(ordered) + 1) // 2
    below = [_at_most(count, rank, i) for i in range(count + 1)]
    return [(value, below[i + 1] - below[i]) for i, value in enumerate(ordered)]


def _middle_two(ordered):
    """The same for the mean of the two middle values of an even number: with m of n draws at or below
    the i-th value and one of them just there, and the others likewise above, all is counted."""
    count, rank = len(ordered), len(ordered) // 2
    ways, all_ways = math.comb(count, rank), count ** count
    powers = [i ** rank for i in range(count + 1)]
    steps = [high - low for low, high in zip(powers, powers[1:])]
    below = [_at_most(count, rank, i) for i in range(count + 1)]
    found = []
    for i in range(count):
        same = below[i + 1] - below[i]
        for j in range(i + 1, count):
            both = ways * steps[i] * steps[count - j - 1] / all_ways
            same -= both
            found.append(((ordered[i] + ordered[j]) / 2, both))
        found.append((ordered[i], same))
    return found


def median_distribution(values):
    """The bootstrap distribution of the median, exactly: what resampling without end would find, as
    [(median, probability)] in ascending order."""
    ordered = sorted(values)
    return sorted(_middle(ordered) if len(ordered) % 2 else _middle_two(ordered))


def bootstrap_interval(values, confidence=CONFIDENCE):
    """The percentile interval of the median by bootstrap as [low, high]; None with fewer than two
    values."""
    if len(values) < 2:
        return None
    tail = (1 - confidence) / 2
    distribution = median_distribution(values)

    def quantile(pairs):
        passed = 0.0
        for value, probability in pairs:
            passed += probability
            if passed >= tail:
                return value
        return pairs[-1][0]

    return [quantile(distribution), quantile(distribution[::-1])]


def describe(values):
    """The STATISTIC of doc/design/evaluation.md; None where nothing is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"n": len(known), "median": statistics.median(known), "mean": statistics.fmean(known),
            "t": t_interval(known), "bootstrap": bootstrap_interval(known)}
