"""Durations as cosched.ini writes them."""

import re

from . import NasError

SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def seconds(text):
    """A duration as cosched.ini has it, in seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(us|ms|s|min|h)", text.strip())
    if not match:
        raise NasError(f"duration {text!r}: must be a number with us, ms, s, min or h, like 500ms or 2h")
    return float(match[1]) * SCALES[match[2]]


def text(duration_s):
    """The other way round, exact to the microsecond."""
    for unit in ("s", "ms"):
        value = round(duration_s / SCALES[unit], 9)
        if value == int(value):
            return f"{int(value)}{unit}"
    return f"{round(duration_s * 1e6)}us"


def left(duration_s):
    """A duration for people who wait."""
    minutes = round(duration_s / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if duration_s >= 90 else f"{round(duration_s)} s"
