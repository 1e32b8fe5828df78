"""The options of bench/run_dcs.sh: what they are, and whether they make sense."""

import argparse
import os
import shutil

from naskit import NasError, environment, times

from . import variants, workloads

MPIS = {"mpich": ["mpich"], "openmpi": ["openmpi"], "both": ["mpich", "openmpi"]}
QUICK_SCALE = 0.1


def parser():
    top = argparse.ArgumentParser(
        prog="run_dcs.sh", description="Dynamic coscheduling on a virtual cluster: the workloads of Sobalvarro et al., "
                                       "section 4.1.2, under their four variants and two of ours; redraws Figures 3, "
                                       "4, 6, 7 and 8.")
    top.add_argument("--figure", type=int, action="append", choices=list(workloads.FIGURES), metavar="N",
                     help="3, 4, 6, 7 or 8; may be repeated (default: all)")
    top.add_argument("--mpi", choices=list(MPIS), default="mpich", help="default: mpich")
    top.add_argument("--variants", metavar="LIST", help="of " + ", ".join(variants.VARIANTS) + " (default: all)")
    top.add_argument("--competitors", metavar="LIST",
                     help="how many sequential competitors on each node (default: 1,2,3, with --quick 1; none is always run)")
    top.add_argument("--as", dest="kinds", metavar="LIST",
                     help="what competitors are: users (processes of the sequential class), jobs (default: both, with --quick users)")
    top.add_argument("--runs", type=int, metavar="N", help="repetitions (default: 3)")
    top.add_argument("--scale", type=float, metavar="F", help="make programs F times as long")
    top.add_argument("--spread", type=int, default=0, metavar="PCT",
                     help="of Barrier's computing between barriers: 0 (as in the paper's figure) to 100")
    top.add_argument("--slice", default="100ms", metavar="T", help="time-slice (default: 100ms, the shortest)")
    top.add_argument("--quick", action="store_true",
                     help="does it work? about two minutes: one competitor, programs a tenth as long, one run")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="any other setting of cosched.ini")
    top.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of runs")
    top.add_argument("--noise", type=float, default=1.2, metavar="F",
                     help="a run is disturbed when the calibration before or after it, or a piece of work while its "
                          "jobs run, takes F times its median (default: 1.2; 0: do not look)")
    top.add_argument("--retries", type=int, default=1, metavar="N",
                     help="how often a disturbed run is repeated (default: 1)")
    top.add_argument("--timeout", type=float, default=600, metavar="S", help="limit of one job")
    top.add_argument("--out", metavar="DIR", help="where results go (default: results/dcs-<time>)")
    top.add_argument("--resume", metavar="DIR", help="go on with a session that was interrupted")
    top.add_argument("--build", default=os.path.join(environment.ROOT, "build", "release"), metavar="DIR",
                     help="use this build as it is (default: build/release, made anew)")
    top.add_argument("--dry-run", action="store_true", help="print the plan and how long it takes, and run nothing")
    return top


def _counts(text):
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise NasError(f"--competitors {text!r}: must be numbers like 1,2,3") from None
    if not found or found[0] < 1 or found[-1] > 16:
        raise NasError(f"--competitors {text!r}: must be from 1 to 16")
    return found


def _kinds(text):
    found = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in found:
        if word not in (workloads.USERS, workloads.JOBS):
            raise NasError(f"--as {word!r}: must be {workloads.USERS} or {workloads.JOBS}")
    return found


def _check_settings(texts):
    """What the variants set is what they are: another value would not be used."""
    own = variants.settings(variants.VARIANTS[variants.BASE], variants.BASE, 1.0)
    for text in texts:
        key, equals, _ = (part.strip() for part in text.partition("="))
        if not equals or "." not in key:
            raise NasError(f"--set {text}: must be section.key=value")
        if key in own:
            raise NasError(f"--set {key}: is set by the variants" + (", by --slice" if key == "scheduler.time_slice" else "")
                           + "; leave it out")


def check(options):
    """Fills in what was left out, and turns texts into values."""
    if options.competitors is None:
        options.competitors = "1" if options.quick else "1,2,3"
    if options.kinds is None:
        options.kinds = workloads.USERS if options.quick else f"{workloads.USERS},{workloads.JOBS}"
    options.figures = sorted(set(options.figure or workloads.FIGURES))
    options.mpi = MPIS[options.mpi]
    options.variants = variants.choose(options.variants)
    options.competitors = _counts(options.competitors)
    options.kinds = _kinds(options.kinds)
    if options.runs is None:
        options.runs = 1 if options.quick else 3
    if options.scale is None:
        options.scale = QUICK_SCALE if options.quick else 1.0
    options.slice_s = times.seconds(options.slice)
    for name, low, high in (("runs", 1, 1000), ("scale", 0.001, 1000), ("spread", 0, 100), ("retries", 0, 100)):
        if not low <= getattr(options, name) <= high:
            raise NasError(f"--{name}: must be from {low} to {high}")
    if not (options.noise == 0 or 1 < options.noise <= 1000):
        raise NasError(f"--noise {options.noise}: must be more than 1, like 1.2, or 0 not to look")
    if not 0 < options.timeout <= 7 * 24 * 3600:
        raise NasError(f"--timeout {options.timeout}: must be seconds, above 0 and at most a week")
    _check_settings(options.set)
    options.nodes, options.cpus_per_node = 2, 1
    options.build = os.path.abspath(options.build)
    options.sequential = ["tar"] + ["gs"] * bool(shutil.which("gs"))
