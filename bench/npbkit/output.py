"""What a program printed: ours and the official ones. Pure."""

import dataclasses
import re

OURS = re.compile(r"^NPB kernel=\w+ class=\w ranks=\d+ repeat=\d+ seconds=([0-9.]+) mops=([0-9.]+) "
                  r"verified=(yes|no)$", re.MULTILINE)
OFFICIAL = {
    "seconds": re.compile(r"^ Time in seconds =\s+([0-9.]+)\s*$", re.MULTILINE),
    "mops": re.compile(r"^ Mop/s total     =\s+([0-9.]+)\s*$", re.MULTILINE),
    "verdict": re.compile(r"^ Verification    =\s+(\w+)\s*$", re.MULTILINE),
}
# For `lab mpiexec`: after this line a program has nothing left to do but to end.
DONE = r"^NPB kernel=.* verified=\w+"


@dataclasses.dataclass(frozen=True)
class Said:
    """`seconds` is what it took to compute, as the program measured it; `mops` the rate that it makes of it."""

    seconds: float
    mops: float
    verified: bool


def ours(text):
    """What our program said last, or None."""
    found = OURS.findall(text)
    if not found:
        return None
    seconds, mops, verified = found[-1]
    return Said(float(seconds), float(mops), verified == "yes")


def official(text):
    """What an official program said, or None."""
    found = {name: pattern.search(text) for name, pattern in OFFICIAL.items()}
    if None in found.values():
        return None
    return Said(float(found["seconds"][1]), float(found["mops"][1]), found["verdict"][1] == "SUCCESSFUL")
