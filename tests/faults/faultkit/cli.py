"""The command `campaign.py`: options, lab up, campaign, lab down, table."""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile

from labkit import LabError, state
from labkit.cli import default_build

from . import CampaignError, report
from .campaign import Campaign
from .faults import KINDS
from .jobs import Jobs
from .nodes import Lab, need
from .watch import DEFAULT_POLICY, ROUNDS, Watch
from .world import World

SLICE_S = 0.25
TIMES = {"scheduler": {"time_slice": "250ms", "gmet": "60ms"}, "gang": {"slot": "250ms"}}
PROGRAMS = {"classd": "classd/classd", "timerd": "timerd/timerd"}
UPGRADED = {"classd": "tests/faults/classd_next", "timerd": "tests/faults/timerd_next"}
INTERPOSERS = {"limits": "tests/faults/librefuse_writes.so", "clock": "tests/faults/libstep_clock.so"}
SKIPPED = 77


def parser():
    top = argparse.ArgumentParser(
        prog="campaign.py", description="Injects random faults into the node daemons of a virtual cluster "
        "while MPI jobs share it, and checks that nobody is harmed.")
    top.add_argument("--faults", type=int, default=50, metavar="N", help="default: 50; by night: 1000")
    top.add_argument("--seconds", type=float, default=float("inf"), metavar="S",
                     help="inject no further fault after so long, and come to an end")
    top.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is left to chance")
    top.add_argument("--mpi", choices=["mpich", "openmpi", "both"], default="both")
    top.add_argument("--policy", choices=list(ROUNDS), default=DEFAULT_POLICY,
                     help=f"of classd (default: {DEFAULT_POLICY})")
    top.add_argument("--build", default=default_build(), metavar="DIR",
                     help="what is tested (default: build/release)")
    top.add_argument("--lab-name", default="cosched-lab-faults", metavar="NAME")
    top.add_argument("--json", metavar="FILE",
                     help="write everything that was found; kept up to date while the campaign runs")
    top.add_argument("--table", metavar="FILE",
                     help="write the table in Markdown: between the marks of a document that has them")
    top.add_argument("--from", dest="found", nargs="+", metavar="JSON",
                     help="inject nothing: tabulate what earlier campaigns have written")
    top.add_argument("--only", choices=sorted(KINDS), metavar="KIND",
                     help="one of: " + ", ".join(sorted(KINDS)))
    return top


def families(wanted):
    found = [name for name in ("mpich", "openmpi")
             if wanted in (name, "both") and shutil.which("mpiexec." + name)]
    if not found:
        raise CampaignError(f"no mpiexec for --mpi {wanted}")
    return found


def check(options):
    options.build = os.path.abspath(options.build)
    options.families = families(options.mpi)
    kernels = [f"bench/npb/{family}/bin/cg" for family in options.families]
    missing = need(options.build, [*PROGRAMS.values(), *UPGRADED.values(), *INTERPOSERS.values(), *kernels])
    if missing:
        raise CampaignError("not there: " + ", ".join(missing))


def paths(build, programs):
    return {title: os.path.join(build, path) for title, path in programs.items()}


def settings(policy):
    return {**TIMES, "scheduler": {**TIMES["scheduler"], "policy": policy}}


def run(options, folder):
    store = state.Store(options.lab_name)
    lab = Lab(store, options.build, settings(options.policy), paths(options.build, PROGRAMS),
              paths(options.build, INTERPOSERS), SLICE_S)
    watch = Watch(lab, SLICE_S, options.policy)
    jobs = Jobs(options.lab_name, options.build, options.families, folder, random.Random(options.seed))
    world = World(lab, jobs, watch, SLICE_S, paths(options.build, UPGRADED))
    campaign = Campaign(world, options.faults, options.seed, options.only, options.seconds,
                        save=lambda: save(options, report.content(campaign, options, SLICE_S)))
    watch.start()
    try:
        campaign.run()
    except (KeyboardInterrupt, Terminated):
        campaign.complaints.append("interrupted")
    finally:
        with uninterrupted():
            watch.stop()
            jobs.stop()
            lab.down()
    campaign.complaints += [f"left behind: {what}" for what in lab.leftovers()]
    return report.content(campaign, options, SLICE_S)


def save(options, one):
    if options.json:
        report.write_json(one, options.json)
    if options.table:
        report.write_section([one], options.table)


@contextlib.contextmanager
def uninterrupted():
    """A second ^C must not keep the lab from going away."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


class Terminated(BaseException):
    """By a signal."""


def _terminated(number, _frame):
    raise Terminated(number)


def tabulate(options):
    several = [report.read_json(path) for path in options.found]
    report.show(several, sys.stdout)
    if options.table:
        report.write_section(several, options.table)
    return 1 if any(report.failures(one) for one in several) else 0


def main(arguments=None):
    options = parser().parse_args(arguments)
    if options.found:
        return tabulate(options)
    if os.geteuid() != 0:
        print("skipped: needs root, for namespaces and cgroups", file=sys.stderr)
        return SKIPPED
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    try:
        check(options)
        with tempfile.TemporaryDirectory(prefix="cosched-faults-") as folder:
            one = run(options, folder)
    except (CampaignError, LabError) as error:
        print(f"campaign: {error}", file=sys.stderr)
        return 2
    except Terminated as signalled:
        return 128 + signalled.args[0]
    report.show([one], sys.stdout)
    save(options, one)
    return 1 if report.failures(one) else 0
