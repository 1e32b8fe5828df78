"""A job with more ranks than CPUs, without daemons or privilege: as it is, and with the library.

Runs the program plain, with the MPI's own yielding where it has any (own), and with the library, which waits as it
finds best (auto), spins, yields, or blocks, in turn; also with one rank, plain, whose time divided by the CPUs is
the ideal (one), and one rank on each CPU at once (each): CPUs that are all busy can be slower than one alone, or one
of them slower than the others, which is no fault of who waits, and the time of the last to end divided by the CPUs is
the ideal then. Prints medians and their ratios to the first way and to the ideal, and what CPU time in user and kernel
mode the runs took in all: ranks that compute more than one rank does, or ranks that wait without giving the CPU
away, show in the first, context switches in the second. With --hogs, beside a process on each CPU that does nothing
but compute; with --jobs, so many of it at once, until the last one ends.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import asked
from guard import guarded
from labkit import LabError, launch

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# What NPB programs say of their result; of others the exit status has to do.
VERDICT = re.compile(r"^NPB kernel=.* verified=(?P<ours>\w+)|^\s*Verification\s+=\s+(?P<official>\w+)", re.MULTILINE)
LIBRARY_LINE = re.compile(r"cosched: job .* carrier \w+ wait \w+")  # of COSCHED_STATS=1; behind what a rank has begun to say
LIBRARY_WAYS = ("auto", "spin", "yield", "block")
WAYS = ("plain", "own", *LIBRARY_WAYS, "one", "each")
IDEALS = ("one", "each")
OWN_YIELD = {"openmpi": ["--mca", "mpi_yield_when_idle", "1"]}  # MPICH has none


@contextlib.contextmanager
def hogs(wanted):
    """A process on each CPU that computes for as long as this lasts."""
    running = []
    try:
        for cpu in os.sched_getaffinity(0) if wanted else ():
            running.append(subprocess.Popen([sys.executable, "-c", f"""
import os
os.sched_setaffinity(0, [{cpu}])
while os.getppid() == {os.getpid()}:
    for _ in range(1000000):
        pass
"""]))
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


def is_right(output):
    """Whether a program that ended well has not said that its result is wrong."""
    return all(found["ours"] == "yes" or found["official"] == "SUCCESSFUL" for found in VERDICT.finditer(output))


def run(way, options, checked=False):
    """(seconds from the start of mpiexec to its end, CPU seconds in user mode, in kernel mode) of it and its ranks.
    Ends this program when the other one fails or does not verify; `checked`: or ran without the library, with one of its
    ways."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "COSCHED_RUNTIME_DIR": "/nonexistent"}  # whether or not this machine has a classd
    if way in LIBRARY_WAYS:
        environment["LD_PRELOAD"] = options.preloaded
        environment["COSCHED_WAIT"] = way
    environment.pop("COSCHED_STATS", None)
    if checked:
        environment["COSCHED_STATS"] = "1"  # which takes time at each call
    launcher = ["mpiexec." + options.mpi, "-n", "1" if way in IDEALS else str(options.ranks)]
    if options.mpi == "openmpi":
        launcher += ["--oversubscribe"]
    if way == "own":
        launcher += OWN_YIELD[options.mpi]
    if options.mpi == "openmpi" and (options.jobs > 1 or way == "each"):
        launcher += ["--bind-to", "none"]  # each job's ranks would have the same first CPUs
    command = [*launcher, options.program, *options.arguments]
    with hogs(options.hogs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        together(command, places(way, options), environment, way, options)
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def order(ways, seed, turn):
    """In each turn another: a way that always came first, or behind the same one, would have that machine's share of luck."""
    return random.Random(f"{seed}/{turn}").sample(ways, len(ways))


def places(way, options):
    """The CPUs of each job that is run at once. The ideals are of one rank alone, or of one on each CPU."""
    cpus = os.sched_getaffinity(0)
    return [{cpu} for cpu in sorted(cpus)] if way == "each" else [cpus] * (1 if way == "one" else options.jobs)


def together(command, places_of_jobs, environment, way, options):
    """Runs so many of the program at once. Ends this program when one fails, does not verify, or takes too long."""
    end = time.monotonic() + options.timeout
    with contextlib.ExitStack() as stack:
        running = []
        for cpus in places_of_jobs:
            output = stack.enter_context(tempfile.TemporaryFile("w+"))
            job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, preexec_fn=lambda cpus=cpus: os.sched_setaffinity(0, cpus))
            stack.callback(put_away, job)
            running.append((job, output))
        for job, output in running:
            try:
                status = job.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                sys.exit(f"waiting: {way}: {options.program} took longer than {options.timeout:g} s; see --timeout")
            output.seek(0)
            said = output.read()
            if status != 0 or not is_right(said):
                problem = "did not verify" if status == 0 else f"ended with status {status}"
                sys.exit(f"waiting: {way}: {options.program} {problem}:\n{said[-2000:]}")
            if "COSCHED_STATS" in environment and way in LIBRARY_WAYS and not LIBRARY_LINE.search(said):
                sys.exit(f"waiting: {way}: {options.program} ran without the library: is it linked with the shared library of "
                         f"{options.mpi}? It said:\n{said[-2000:]}")


def put_away(job):
    """Ends a launcher that still runs, so that it ends its ranks."""
    if job.poll() is None:
        job.terminate()
        try:
            job.wait(5)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()


def main():
    parser = argparse.ArgumentParser(prog="run_waiting.sh", description=__doc__.splitlines()[0],
                                     allow_abbrev=False)  # run_waiting.sh has to know where options end
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("-n", dest="ranks", type=asked.at_least(1), default=4)
    parser.add_argument("--runs", type=asked.at_least(1), default=3)
    parser.add_argument("--hogs", action="store_true", help="beside a process on each CPU that computes")
    parser.add_argument("--jobs", type=asked.at_least(1), default=1, metavar="N", help="so many of the program at once")
    parser.add_argument("--way", dest="ways", action="append", choices=WAYS,
                        help="only this one; may be given several times")
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs")
    parser.add_argument("--timeout", type=asked.at_least(1, float), default=600, metavar="S", help="of one run")
    parser.add_argument("program", nargs="?", help="any MPI program that ends by itself; default: our CG, class W")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    try:
        options.preloaded = launch.preloadable(os.path.join(options.build, launch.LIBRARY))
    except LabError as error:
        sys.exit(f"run_waiting.sh: {error}")
    remedy = "give its path, or none for our CG"
    if options.program is None:
        remedy = "build first, or name a build with --build DIR"
        options.program = asked.kernel(options, "cg")
        options.arguments = ["W"]

    if "own" in (options.ways or ()) and options.mpi not in OWN_YIELD:
        sys.exit(f"run_waiting.sh: {options.mpi} cannot yield by itself; leave --way own out")
    ways = options.ways or [way for way in WAYS if way != "own" or options.mpi in OWN_YIELD]
    asked.needs_mpi(parser, options.mpi)
    asked.needs_program(parser, options.program, remedy)
    if set(ways) & set(LIBRARY_WAYS) and not os.path.exists(options.preloaded):
        asked.refuse(parser, f"{options.preloaded} is not there: build first, or name a build with --build DIR")
    # What is read for the first time is not counted; and whether the library was there is seen.
    for way in [way for way in ways if way in LIBRARY_WAYS] or ways[:1]:
        run(way, options, checked=True)
    runs = {way: [] for way in ways}
    for turn in range(options.runs):
        for way in order(ways, options.seed, turn):
            runs[way].append(run(way, options))
    show(ways, runs, options)


def ratio(seconds, base):
    """The median of the runs' ratios, each to what was run in the same turn."""
    return statistics.median(with_s / without_s for with_s, without_s in zip(seconds, base))


def ideal(seconds, cpus, options):
    """Of all jobs, by the time that one rank of one takes."""
    return [one_s * max(1.0, options.jobs * options.ranks / cpus) / options.ranks for one_s in seconds]


def to_the_ideal(runs, base_runs, base, cpus, options):
    """(time, CPU time) of all jobs, as ratios to the ideal by `base`, which was run in the same turns."""
    ones = cpus if base == "each" else 1  # whose CPU time is that of one of its runs
    wall = ratio([run[0] for run in runs], ideal([run[0] for run in base_runs], cpus, options))
    return wall, ratio([sum(run[1:]) for run in runs], [sum(run[1:]) / ones * options.jobs for run in base_runs])


def show(ways, runs, options):
    seconds, user, system = ({way: [run[i] for run in runs[way]] for way in ways} for i in range(3))
    cpus = len(os.sched_getaffinity(0))
    print(f"{options.mpi}, {options.ranks} ranks on {cpus} CPUs: {os.path.basename(options.program)}, "
          f"{options.runs} runs, seconds{f', {options.jobs} jobs at once' if options.jobs > 1 else ''}"
          f"{', beside a hog per CPU' if options.hogs else ''}")
    for way in ways:
        line = (f"  {way:10} {statistics.median(seconds[way]):7.2f} ({min(seconds[way]):.2f}-"
                f"{max(seconds[way]):.2f})  CPU {statistics.median(user[way]):.2f} + "
                f"{statistics.median(system[way]):.2f}  ratio to {ways[0]} {ratio(seconds[way], seconds[ways[0]]):.3f}")
        for base in IDEALS:
            if base in ways and way not in IDEALS:
                wall, used = to_the_ideal(runs[way], runs[base], base, cpus, options)
                line += f"  to the ideal by {base} {wall:.3f}, CPU {used:.3f}"
        print(line)


if __name__ == "__main__":
    sys.exit(guarded(main))
