"""How numbers are written. "-" stands for an absent figure; dashes between numbers are en dashes."""

import math

ABSENT = "-"


def plain(value):
    """At least three significant digits, no exponent below a million, no trailing noise."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-3:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(size)))
    return f"{value:.{digits}f}"


def setting(value):
    """A parameter: exactly where three digits do, else two."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    text = f"{value:.3g}"
    return text if math.isclose(float(text), value, rel_tol=1e-9) or abs(value) >= 100 else f"{value:.2g}"


def interval(pair):
    return ABSENT if pair is None else f"{plain(pair[0])}–{plain(pair[1])}"


def with_interval(statistic):
    """"61.2 (60.8–62.0)"; "61.2" where there is no interval."""
    if statistic is None:
        return ABSENT
    if statistic.bootstrap is None:
        return plain(statistic.median)
    return f"{plain(statistic.median)} ({interval(statistic.bootstrap)})"


def factors(*values, claim=False):
    """Factors that are read together, all with as many digits as the one nearest to 1 needs; in a `claim` none that
    differs from 1 is written as 1.00."""
    nearest = min(abs(math.log(value)) for value in values)
    digits = 2
    if min(values) >= 10:
        digits = 0
    elif nearest > math.log(1.15) and max(values) >= 1.5:
        digits = 1
    elif claim and 0 < nearest < 0.005:
        digits = 3
    return [f"{value:.{digits if value < 10 else 0}f}" for value in values]


def count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listing(parts):
    """"a", "a and b", "a, b and c"."""
    parts = list(parts)
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
