"""Runs one program in the sequential class of a lab's node and reports on it as `lab mpiexec` does. A program of its
own, so that it can be the parent of all that it starts."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import guard  # noqa: E402
from labkit import LabError, cgroups, cli, cluster, launch, processes, state  # noqa: E402


def parser():
    top = argparse.ArgumentParser(prog="sequential_job")
    top.add_argument("--lab", required=True)
    top.add_argument("--node", required=True)
    launch.add_options(top)
    return top


def main():
    options = parser().parse_args()
    guard.unwind_by_signals()
    options.mpi = "none"
    try:
        lab = state.Store(options.lab).require()
        node = cli.find_node(lab, options.node)
    except LabError as error:
        print(f"sequential_job: {error}", file=sys.stderr)
        return 2
    if options.gate and not launch.wait_for_gate():
        return 130
    os.environ[processes.MARKER] = f"{lab['name']}:{lab['id']}"
    cgroups.enter_users_group(lab["name"], node["name"])
    report = launch.watched([*cluster.enter(node), options.program, *options.arguments], {}, options)
    launch.write_report(report, options.report)
    return report["exit_status"]


if __name__ == "__main__":
    sys.exit(main())
