"""What a ratio of two schedulers' times allows to say. Ratios are ours ÷ baseline, so below 1 we are faster."""

import dataclasses
import math

from . import numbers

# Intervals that hold 1 and lie within these are a finding (no difference), not merely a lack of one.
EQUAL = (0.97, 1.03)
# Unclear intervals that are wider than this, high ÷ low, do not even say that it is about the same.
TELLING = 1.5
# No measurement of ours can tell more; beyond, something is broken.
CREDIBLE = (1e-6, 1e6)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """`kind`: faster, slower, equal, unclear (the interval holds 1), torn (the two intervals disagree about that),
    single (no interval) or missing. `factor`, `low`, `high`: how many times faster than the baseline; None where
    unknown, `high` infinite where Student's interval has ratios of 0 and below."""

    kind: str
    factor: float = None
    low: float = None
    high: float = None
    n: int = 0


def compare(ratio):
    """Comparison of a Statistic of ratios, or None."""
    if ratio is None or not _is_credible(ratio.median):
        return Comparison("missing")
    factor, interval = 1 / ratio.median, hull(ratio)
    if interval is None or not _is_credible(interval[1]):
        return Comparison("single", factor, n=ratio.n)
    low, high = 1 / interval[1], 1 / interval[0] if _is_credible(interval[0]) else math.inf
    return Comparison(_kind(ratio), factor, low, high, ratio.n)


def hull(statistic):
    """Both intervals of a Statistic together, or None: of two to four runs the median's by itself, from the least to the
    greatest, holds the true one in 50 to 88 % of all cases only."""
    known = [pair for pair in (statistic.bootstrap, statistic.t) if pair is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def _is_credible(value):
    return CREDIBLE[0] < value < CREDIBLE[1]


def _kind(ratio):
    known = [pair for pair in (ratio.bootstrap, ratio.t) if pair is not None]
    holding = [pair for pair in known if pair[0] <= 1 <= pair[1]]
    if len(holding) == len(known):
        return "equal" if all(EQUAL[0] <= low and high <= EQUAL[1] for low, high in known) else "unclear"
    if holding:
        return "torn"
    if all(high < 1 for _, high in known):
        return "faster"
    # The interval of the median may be on one side of 1, and that of the mean on the other.
    return "slower" if all(low > 1 for low, _ in known) else "unclear"


def _numbers(comparison, inverted):
    values = [comparison.factor, comparison.low, comparison.high]
    if inverted:
        values = [1 / comparison.factor, 1 / comparison.high, 1 / comparison.low]
    factor, low, high = _texts(values, claim=True)
    return f"{factor} times ({_span(low, high)})"


def _texts(values, claim=False):
    """As numbers.factors() writes them; None for 0 and infinity, which are no bounds."""
    written = iter(numbers.factors(*(value for value in values if 0 < value < math.inf), claim=claim))
    return [next(written) if 0 < value < math.inf else None for value in values]


def _span(low, high):
    if high is None:
        return f"{low} and more"
    return f"{low}–{high}" if low is not None else f"up to {high}"


def span(comparison):
    """The interval of how many times faster, as "0.96–1.15"."""
    return _span(*_texts([comparison.low, comparison.high]))


SAME = {"faster": "as fast", "shorter": "as long"}


def phrase(comparison, faster="faster", slower="slower", where=""):
    """What can be said, to follow "X responds ...": "2.1 times (1.9–2.3) faster". `where`, as " under MPICH", stands
    before any reservation."""
    kind = comparison.kind
    if kind == "missing":
        return f"not known{where}"
    if kind == "faster":
        return f"{_numbers(comparison, False)} {faster}{where}"
    if kind == "slower":
        return f"{_numbers(comparison, True)} {slower}{where}"
    word = faster if comparison.factor >= 1 else slower
    if kind == "single":
        text, = numbers.factors(max(comparison.factor, 1 / comparison.factor))
        return f"{text} times {word}{where} by the only figure there is, which may be chance"
    if kind == "torn":
        return f"perhaps {_numbers(comparison, comparison.factor < 1)} {word}{where}, but only one of the two " \
               "intervals excludes that there is no difference"
    if kind == "equal":
        return f"practically {SAME[faster]}{where} ({span(comparison)} times {faster})"
    if comparison.high > TELLING * comparison.low:
        return f"{faster} or {slower}, which cannot be told{where} ({span(comparison)} times {faster})"
    return f"{SAME[faster]}, as far as can be seen{where and f',{where}'} ({span(comparison)} times {faster})"


def less_pct(factor):
    """2.0 times faster is 50 % less time."""
    return 100 * (1 - 1 / factor)


def from_less_pct(percent):
    return 1 / (1 - percent / 100)


def between(first, last):
    """How two independent Statistics relate: "higher", "lower", or "same" (intervals of theirs overlap, of the median
    or of the mean: of few runs the former alone are too narrow); None where one is missing or has no interval."""
    if first is None or last is None:
        return None
    found = {_apart(one, other) for one, other in ((first.bootstrap, last.bootstrap), (first.t, last.t))
             if one is not None and other is not None}
    if not found:
        return None
    return found.pop() if len(found) == 1 else "same"


def _apart(first, last):
    if last[0] > first[1]:
        return "higher"
    return "lower" if last[1] < first[0] else "same"
