"""What is compared: the four variants of Sobalvarro et al., section 4.1.3, as configurations of ours (the table of
doc/design/waiting.md), and two of our own. No system call in here."""

import dataclasses

from naskit import NasError, times


@dataclasses.dataclass(frozen=True)
class Variant:
    """`wait` is a key of WAITS; `autonomous`: the nodes' timers tick at different moments, as the paper's dispatchers
    did, so that only messages can coschedule."""

    name: str
    policy: str
    wait: str
    exponent: int = 0
    constant: str = "0s"
    calibrate: bool = True
    autonomous: bool = True


VARIANTS = {variant.name: variant for variant in (
    Variant("spin", "uncoordinated", "spin"),
    Variant("spin-block", "uncoordinated", "block"),
    Variant("dcs-spin", "dcs", "spin", exponent=-1, calibrate=False),
    Variant("dcs-spin-block", "dcs", "block", exponent=2, constant="100ms", calibrate=False),
    Variant("dcs", "dcs", "auto"),
    Variant("yoo-jette", "yoo-jette", "auto", autonomous=False),
)}
BASE = "spin"  # alone, it is what everything is compared with
PAPER = ("spin", "spin-block", "dcs-spin", "dcs-spin-block")

# The value of [client] wait for what a variant wants: the first that the build takes.
WAITS = {"spin": ("spin",), "auto": ("auto",), "block": ("block", "yield")}
GMET_PART = 4  # of yoo-jette: slice / this


def choose(text):
    """Variants by a comma-separated list of names; all of them without one."""
    names = [word.strip() for word in text.split(",") if word.strip()] if text else list(VARIANTS)
    for name in names:
        if name not in VARIANTS:
            raise NasError(f"variant {name!r}: unknown; must be of {', '.join(VARIANTS)}")
    return list(dict.fromkeys(names))


def chosen_wait(variant, is_taken):
    """The value of [client] wait that runs; `is_taken(value)` says whether the build takes it."""
    for value in WAITS[variant.wait]:
        if is_taken(value):
            return value
    raise NasError(f"variant {variant.name}: this build takes none of wait = {', '.join(WAITS[variant.wait])}")


def settings(variant, wait, slice_s):
    """{section.key: value} of cosched.ini: every key that any variant sets, since a lab remembers what it was told."""
    slice_text = times.text(slice_s)
    return {"scheduler.policy": variant.policy,
            "scheduler.time_slice": slice_text,
            "scheduler.gmet": times.text(slice_s / GMET_PART) if variant.policy == "yoo-jette" else slice_text,
            "timer.align": "no" if variant.autonomous else "yes",
            "dcs.exponent": str(variant.exponent),
            "dcs.constant": variant.constant,
            "dcs.calibrate": "yes" if variant.calibrate else "no",
            "client.wait": wait}
