"""What the library and the daemons cost a job that has its nodes to itself.

Runs the job without and with the library at once, in turns of a twentieth of a second on two labs of their
own (interleave.py says why), several times. Prints for each run the time for which either job ran, and
the median of the ratios (with / without) with its 90 % bootstrap interval.

That leaves out how a job starts and ends. So the shortest job there is (EP, class S) is run from start
to end, without and with the library in turn: the median of the differences is what registering,
agreeing on a carrier and leaving cost, once per job.
"""

import argparse
import os
import statistics
import sys

import asked
import interleave
import ratios
from guard import guarded
from labkit import launch


def main():
    parser = argparse.ArgumentParser(prog="run_alone.sh", description=__doc__.splitlines()[0],
                                     allow_abbrev=False)  # run_alone.sh has to know where options end
    parser.add_argument("--build",
                        default=os.path.join(os.path.dirname(interleave.BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--runs", type=asked.at_least(3), default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--launches", type=asked.at_least(0), default=15, help="of the shortest job; 0: none")
    parser.add_argument("--against-itself", action="store_true",
                        help="both without the library: what the method itself makes of nothing")
    parser.add_argument("program", nargs="?", help="default: our CG, class A, 20 times")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    build = options.build = os.path.abspath(options.build)
    if options.program is None:
        options.program = asked.kernel(options, "cg")
        options.arguments = ["A", "--repeat", "20"]
    shortest = [asked.kernel(options, "ep"), "S"]
    asked.needs_root(parser)
    asked.needs_mpi(parser, options.mpi)
    for program in (options.program, shortest[0]):
        asked.needs_program(parser, program)

    if not options.against_itself and not os.access(os.path.join(build, launch.LIBRARY), os.R_OK):
        asked.refuse(parser, f"{os.path.join(build, launch.LIBRARY)} is not there: build first, or name a build with --build DIR")

    variants = [interleave.Variant("without"),
                interleave.Variant("with", *([] if options.against_itself else ["--preload"]))]
    try:
        results = interleave.compare(
            variants, build, options.mpi, [options.program, *options.arguments], options.runs,
            options.seed, progress=lambda number, result: print(
                f"  run {number}: without {result['without']:.3f} s, with {result['with']:.3f} s, "
                f"ratio {result['with'] / result['without']:.4f}", flush=True))
    except interleave.Disturbed as error:
        sys.exit(f"run_alone: {error}")
    # Each run starts its jobs afresh: a sitting of its own.
    values = [result["with"] / result["without"] for result in results]
    middle, low, high = ratios.median_and_interval([[value] for value in values], options.seed)
    print(f"{options.mpi} {os.path.basename(options.program)} {' '.join(options.arguments)}"
          f"{' (against itself)' if options.against_itself else ''}: {options.runs} runs, ratio "
          f"{middle:.4f} (90 % interval {low:.4f} to {high:.4f}; "
          f"{min(values):.4f} to {max(values):.4f})", flush=True)
    try:
        launches = interleave.launch(variants, build, options.mpi, shortest, options.launches, options.seed)
    except interleave.Disturbed as error:
        sys.exit(f"run_alone: {error}")
    if launches:
        extra = [(result["with"] - result["without"]) * 1e3 for result in launches]
        middle, low, high = ratios.median_and_interval([[value] for value in extra], options.seed)
        whole = statistics.median(result["without"] for result in launches)
        print(f"{options.mpi} ep S from start to end: {whole:.3f} s without; with, {middle:+.0f} ms "
              f"(90 % interval {low:+.0f} to {high:+.0f}; {len(launches)} pairs)")


if __name__ == "__main__":
    sys.exit(guarded(main))
