#!/usr/bin/env python3
"""Runs applications that Debian has, with and without the preloaded library, and compares their results.

Each runs in a virtual cluster (bench/lab) on an input of ours, first without the library and alone, then in every
variant; with --beside another job takes turns with it meanwhile. What it prints as results must stay the same.
"""

import argparse
import contextlib
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import results
from catalogue import APPLICATIONS
from lab import PLAIN, ROOT, Lab, Variant, variants

FAMILIES = ("mpich", "openmpi")
OPENMPI = ["--mca", "mpi_yield_when_idle", "1",  # so that what runs without the library ends in time
           "--mca", "osc", "pt2pt"]  # without it, no windows over TCP
PLAIN_RUNS_MAX = 3  # what differs must differ from all of them: some results depend on who was first
GRACE_S = 2  # for what is to end after its last line
AT_WORK = "cosched:"  # and " carrier ", in the line that COSCHED_STATS=1 gives
BESIDE = "build's bench/npb LU, class W"


class Run:
    """What one run of an application showed."""

    def __init__(self, application, output, report, folder):
        self.seconds = report["response_s"]
        self.trouble = ""
        if report["timed_out"]:
            self.trouble = f"time limit, {report['cpu_s']:.1f} s CPU used"
        elif report["exit_status"] != 0:
            self.trouble = f"exit status {report['exit_status']}"
        said = [line for line in output.splitlines() if line.startswith(AT_WORK)]
        self.at_work = [line for line in said if " carrier " in line]
        self.complaints = [line for line in said if line not in self.at_work]
        self.text = output
        texts = [output]
        for name in application.files:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
            except OSError as error:
                self.trouble = self.trouble or f"{name}: {error.strerror}"
        self.lines = results.pick(application.compared, "\n".join(texts))
        if not self.trouble and len(self.lines) < application.least:
            self.trouble = f"{len(self.lines)} results, where there are {application.least} at least"


def unpack(source, folder):
    """Copies a file into the folder, and unpacks it if it is gzipped."""
    name, packed = os.path.basename(source), source.endswith(".gz")
    with (gzip.open if packed else open)(source, "rb") as file, \
            open(os.path.join(folder, name.removesuffix(".gz")), "wb") as copy:
        shutil.copyfileobj(file, copy)


class Place:
    """A lab for one MPI, with the applications' folders."""

    def __init__(self, options, family):
        self.options = argparse.Namespace(**{**vars(options), "mpi": family}, grace=GRACE_S,
                                          mpi_arg=OPENMPI if family == "openmpi" else [])
        self.family = family
        self.lab = Lab(self.options)

    def run(self, application, variant, beside):
        with tempfile.TemporaryDirectory(prefix="cosched-application.") as folder, contextlib.ExitStack() as stack:
            for source in application.inputs(os.path.join(ROOT, "tests", "outside", "inputs")):
                unpack(source, folder)
            # Open MPI's launcher passes on what it is told to.
            exported = [word for pair in application.environment() for word in ("-x", pair.split("=")[0])]
            stats = ["COSCHED_STATS=1"] if variant.preload else []
            if beside and variant.preload:
                stack.enter_context(self._beside(variant))
            output, report = self.lab.run(variant, application.ranks, application.program(self.family),
                                          application.arguments, folder=folder, limit_s=application.limit_s,
                                          done=application.done, variables=[*application.environment(), *stats],
                                          mpiexec=exported if self.family == "openmpi" else ())
            return Run(application, output, report, folder)

    @contextlib.contextmanager
    def _beside(self, variant):
        """A job that starts over until it is ended."""
        program = os.path.join(self.options.build, "bench", "npb", self.family, "bin", "lu")
        command = [*self.lab.command, "mpiexec", "--mpi", self.family, "-n", "2", "--preload", "--loop", "100000",
                   *[f"--env={pair}" for pair in variant.variables], program, "W"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.terminate()


class Verdict:
    def __init__(self, run, plains, tolerance):
        self.differences = [] if run.trouble else min(
            (results.differences(plain.lines, run.lines, tolerance) for plain in plains), key=len)
        self.silent = not run.at_work
        self.good = not (run.trouble or self.differences or self.silent or run.complaints)
        self.words = run.trouble or "; ".join([
            *([f"{len(self.differences)} results differ"] if self.differences else []),
            *(["the library is not at work"] if self.silent else []),
            *run.complaints[:2]]) or "same"


def compare(place, application, options):
    """Rows (variant, seconds, over plain, results, verdict) and the number of those that are not good."""
    plain_variant = Variant(PLAIN)
    plains = [place.run(application, plain_variant, False)]
    rows = [[PLAIN, f"{plains[0].seconds:.1f}", "", len(plains[0].lines), plains[0].trouble or "ran"]]
    if plains[0].trouble:
        show(application, plains[0].text.splitlines()[-options.tail:])
        return rows, 1
    bad = 0
    for variant in options.variants:
        if not variant.preload:
            continue
        run = place.run(application, variant, options.beside)
        verdict = Verdict(run, plains, application.tolerance)
        while verdict.differences and len(plains) < PLAIN_RUNS_MAX:
            plains.append(place.run(application, plain_variant, False))
            verdict = Verdict(run, plains, application.tolerance)
        rows.append([variant.name, f"{run.seconds:.1f}", f"{run.seconds / plains[0].seconds:.2f}", len(run.lines),
                     verdict.words])
        if not verdict.good:
            bad += 1
            show(application, verdict.differences[:options.tail] or run.text.splitlines()[-options.tail:])
    return rows, bad


def show(application, lines):
    for line in lines:
        print(f"    {application.name}: {line}", flush=True)


def parser():
    top = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    top.add_argument("--mpi", choices=FAMILIES, action="append", help="may be repeated (default: both)")
    top.add_argument("--only", type=lambda text: text.split(","), metavar="NAME,...",
                     help="of " + ", ".join(application.name for application in APPLICATIONS))
    top.add_argument("--variants", type=variants, default="default,notice+yield,header+block", metavar="V,V,...",
                     help="as of mpich_suite.py (default: %(default)s)")
    top.add_argument("--beside", action="store_true",
                     help=f"another job ({BESIDE}) takes turns with it, where it runs with the library")
    top.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build", "release"),
                     help="build of cosched: library and daemons (default: build/release)")
    top.add_argument("--nodes", type=int, default=2, metavar="N", help="nodes, which share the machine's CPUs")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="a setting of the nodes' cosched.ini")
    top.add_argument("--tail", type=int, default=10, metavar="N", help="lines shown of what went wrong")
    top.add_argument("--out", metavar="FILE", help="the rows as JSON")
    top.add_argument("--lab", default="cosched-lab-applications", metavar="NAME", help="name of the lab")
    return top


def chosen(options):
    names = {application.name for application in APPLICATIONS}
    unknown = set(options.only or ()) - names
    if unknown:
        raise SystemExit(f"applications.py: no application {', '.join(sorted(unknown))}: see --help")
    return [application for application in APPLICATIONS if options.only is None or application.name in options.only]


def _terminated(number, _frame):
    raise SystemExit(128 + number)


def main():
    options = parser().parse_args()
    applications = chosen(options)
    options.build = os.path.realpath(options.build)
    signal.signal(signal.SIGTERM, _terminated)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bad, record = 0, []
    for family in options.mpi or FAMILIES:
        place = Place(options, family)
        with place.lab:
            for application in applications:
                if family not in application.families:
                    continue
                if not os.path.exists(application.program(family)):
                    print(f"{application.name} {family}: skipped: {application.program(family)} is not there: "
                          "tests/install_packages.sh packages_applications.txt", flush=True)
                    continue
                rows, failed = compare(place, application, options)
                bad += failed
                for row in rows:
                    print(f"{application.name:12} {family:8} " +
                          "{:15} {:>7} s {:>5} {:>6}  {}".format(*row), flush=True)
                    record.append(dict(zip(("application", "mpi", "variant", "seconds", "over_plain", "results", "verdict"),
                                           [application.name, family, *row])))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
    print(f"{len(record)} runs, {bad} not as they should be")
    return 1 if bad or not record else 0


if __name__ == "__main__":
    sys.exit(main())
