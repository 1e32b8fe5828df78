"""Runs one MPI job on hosts over ssh and reports on it as `lab mpiexec` does. A program of its own, so
that it can be the parent of all that the job starts."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import guard  # noqa: E402
from labkit import launch  # noqa: E402


def mpich(hosts, options):
    return ["mpiexec.mpich", "-launcher", "ssh", "-hosts", hosts, "-n", str(options.ranks)]


def openmpi(hosts, options):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpiexec.openmpi", *root, "--bind-to", "none", "--mca", "plm", "^slurm", "--host", hosts,
            "-n", str(options.ranks)]


FAMILIES = {"mpich": mpich, "openmpi": openmpi}


def command(options):
    """The job's command and the variables that it needs."""
    names = options.hosts.split(",")
    counts = launch.spread(options.ranks, len(names))
    hosts = ",".join(f"{name}:{count}" for name, count in zip(names, counts) if count)
    preload = ["env", f"LD_PRELOAD={options.preloaded}"] if options.preload else []
    line = [*preload, *FAMILIES[options.mpi](hosts, options), *options.mpi_arguments, options.program,
            *options.arguments]
    return line, dict(text.split("=", 1) for text in options.env)


def parser():
    top = argparse.ArgumentParser(prog="host_job")
    top.add_argument("--hosts", required=True)
    top.add_argument("--library", dest="preloaded", required=True)
    launch.add_options(top)
    return top


def main():
    options = parser().parse_args()
    guard.unwind_by_signals()
    if options.gate and not launch.wait_for_gate():
        return 130
    line, environment = command(options)
    report = launch.watched(line, environment, options)
    # What ranks on other hosts used is not known here, and part of it would look like all of it.
    report["cpu_s"] = None
    launch.write_report(report, options.report)
    return report["exit_status"]


if __name__ == "__main__":
    sys.exit(main())
