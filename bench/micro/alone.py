"""What the library and the daemons cost a job that has its nodes to itself.

Runs the job on the lab's two nodes without and with the library, in pairs whose order alternates.
Prints, for the response time of mpiexec and for the time that the program itself reports, the medians,
the fastest runs, and the median of the pairs' ratios (with / without) with its quartiles.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = [os.path.join(BENCH, "lab"), "--name", "cosched-lab-alone"]
DONE = r"^NPB kernel=.* verified=yes|^\s*Verification\s+=\s+SUCCESSFUL"
SECONDS = re.compile(r"^NPB kernel=.* seconds=([0-9.]+)|^\s*Time in seconds\s*=\s*([0-9.]+)",
                     re.MULTILINE)


def lab(*arguments):
    if subprocess.run([*LAB, *arguments], stdin=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"alone: lab {arguments[0]} failed")


def run(options, preload, folder):
    """(response time, the program's own time) of one run, in seconds."""
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
        response_s = json.load(file)["response_s"]
    own = SECONDS.search(done.stdout)
    return response_s, float(own[1] or own[2])


def line(what, plain, preloaded):
    ratios = [with_s / without_s for with_s, without_s in zip(preloaded, plain)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return (f"  {what:14} without {statistics.median(plain):7.3f} s, with "
            f"{statistics.median(preloaded):7.3f} s; fastest {min(plain):.3f} and "
            f"{min(preloaded):.3f} s; ratio {middle:.4f} (quartiles {low:.4f} to {high:.4f})")


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
    print(f"{options.mpi} {os.path.basename(options.program)} {' '.join(options.arguments)}: "
          f"{options.pairs} pairs")
    for index, what in enumerate(("response", "program's own")):
        print(line(what, [run[index] for run in plain], [run[index] for run in preloaded]))


if __name__ == "__main__":
    main()
