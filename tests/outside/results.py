"""What an application printed as its results: which lines, and whether two runs agree."""

import re

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")


def pick(pattern, text):
    """The lines that `pattern` finds something in; of one with groups, only what these match."""
    found = []
    for line in text.splitlines():
        match = re.search(pattern, line)
        if match:
            found.append(" ".join(group for group in match.groups() if group is not None) if match.groups()
                         else line.strip())
    return found


def same(one, other, tolerance):
    """Words alike, and numbers to within `tolerance`, of the larger one (or of one, below one)."""
    if one == other:
        return True
    if _NUMBER.sub("#", one).split() != _NUMBER.sub("#", other).split():
        return False
    return all(abs(first - second) <= tolerance * max(1.0, abs(first), abs(second))
               for first, second in zip(_numbers(one), _numbers(other)))


def _numbers(line):
    return [float(re.sub("[dD]", "e", word)) for word in _NUMBER.findall(line)]


def differences(plain, run, tolerance):
    """Pairs of lines that are not the same, as text."""
    found = [f"{one!r} is now {other!r}" for one, other in zip(plain, run) if not same(one, other, tolerance)]
    if len(plain) != len(run):
        found.append(f"{len(plain)} results are now {len(run)}")
    return found
