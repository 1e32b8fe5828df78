"""What the library and the daemons cost a job that has its nodes to itself.

Runs the job on the lab's two nodes without and with the library, in pairs whose order alternates, and
prints the median of the pairs' ratios (with / without) and their quartiles.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = [os.path.join(BENCH, "lab"), "--name", "cosched-lab-alone"]
DONE = r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL"


def lab(*arguments):
    if subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"alone: lab {arguments[0]} failed")


def run(options, preload, folder):
    """Response time of one run, in seconds."""
    report = os.path.join(folder, "report.json")
    arguments = ["--mpi", options.mpi, "-n", "2", "--timeout", "300", "--done-pattern", DONE,
                 "--report", report, *(["--preload"] if preload else [])]
    done = subprocess.run([*LAB, "mpiexec", *arguments, options.program, *options.arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or ("verified=yes" not in done.stdout
                                and "SUCCESSFUL" not in done.stdout):
        sys.exit(f"alone: the job did not verify:\n{done.stdout[-2000:]}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["response_s"]


def main():
    parser = argparse.ArgumentParser(prog="run_alone.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("program", nargs="?", help="default: our CG, class A, 20 times")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    if options.program is None:
        options.program = os.path.join(options.build, "bench", "npb", options.mpi, "bin", "cg")
        options.arguments = ["A", "--repeat", "20"]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))

    plain, preloaded = [], []
    lab("up", "--build", options.build, "--owner", str(os.getpid()))
    try:
        with tempfile.TemporaryDirectory() as folder:
            for pair in range(options.pairs):
                for preload in (False, True) if pair % 2 == 0 else (True, False):
                    (preloaded if preload else plain).append(run(options, preload, folder))
    finally:
        lab("down")
    ratios = sorted(with_s / without_s for with_s, without_s in zip(preloaded, plain))
    quartiles = statistics.quantiles(ratios, n=4)
    print(f"{options.mpi} {os.path.basename(options.program)}: {options.pairs} pairs, response "
          f"without {statistics.median(plain):.3f} s, with {statistics.median(preloaded):.3f} s, "
          f"fastest {min(plain):.3f} and {min(preloaded):.3f} s, "
          f"ratio {quartiles[1]:.4f} (quartiles {quartiles[0]:.4f} to {quartiles[2]:.4f})")


if __name__ == "__main__":
    main()
