"""What the preloaded library costs: each measurement's ratio to no library.

For each case and MPI one job per variant is started, each in a lab of its own; they then take turns of
some milliseconds, in random order within each round. A ratio is formed within a round: what disturbs
the machine for longer than that hits both of its sides. A turn in which a rank was kept from its CPU
by something else is repeated. Jobs are started afresh several times (sittings), since a job keeps its
luck with memory for life.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import asked
import interleave
import ratios
import standing
from guard import guarded
from labkit import launch

BENCH = standing.BENCH
FAMILIES = ("mpich", "openmpi")
LIBRARY = "libcosched_pmpi.so"
TURN_S = 0.003  # shorter than the kernel's own turns: most go undisturbed even on a busy machine
LOST_MAX = 0.02  # of a turn's time without a CPU; more, and the turn is repeated
ATTEMPTS = 8
PAUSE_S = 0.004  # before another attempt
KERNELS = "kernels"  # as a case: whole programs, in turns of bench/micro/interleave.py
# Name, class and repetitions; long enough that the first seconds, in which all jobs run at once, hardly count.
OUR_KERNELS = (("cg", "A", 8), ("ep", "W", 12))
OFFICIAL_KERNEL = "lu.A.x"
KERNEL_VARIANTS = ("plain", "again", "notice")
KERNEL_TARGET = ("<=", 1.003)


class Variant:
    def __init__(self, name, label, options=(), prefix=(), provider=None):
        self.name = name
        self.label = label
        self.options = list(options)  # of `lab mpiexec`
        self.prefix = list(prefix)    # command that starts the program
        self.provider = provider      # the file that MPI_Send must come from; None: the MPI


class Case:
    def __init__(self, name, text, nodes, cpus_per_node, ranks, transport, carrier):
        self.name = name
        self.text = text
        self.nodes = nodes
        self.cpus_per_node = cpus_per_node
        self.ranks = ranks  # ranks 0 and 1 exchange messages; a third one only makes the job larger
        self.transport = transport
        self.carrier = carrier  # does the library have anything to carry in such a job?


CASES = [
    Case("tcp", "two nodes, one rank each", 2, 1, 2, "tcp", True),
    Case("shm", "one node, two ranks: nobody to tell anything", 1, 2, 2, "shm", False),
    Case("shm+tcp", "two nodes; the two ranks of one node, by shared memory", 2, 2, 3, "shm", True),
]


class Row:
    """A line of the table. `per` operations are done in one repetition; `rate` rows give work per time,
    so that their ratios are the inverse ones. `base` is the row whose plain times are the ones to compare
    with, if not this one's own; `of` the row whose times are compared, if nothing is measured for this."""

    def __init__(self, name, pattern, size, per=1, rate=False, collective=False, of=None, base=None):
        self.name = name
        self.pattern = pattern
        self.size = size
        self.per = per
        self.rate = rate
        self.collective = collective
        self.of = of or name
        self.base = base or name

    def ratio(self, with_s, without_s):
        return without_s / with_s if self.rate else with_s / without_s

    def text(self, seconds):
        """What a repetition of so many seconds means, for people."""
        each_s = seconds / self.per
        if not self.rate:
            return f"{each_s * 1e9:.1f} ns" if each_s < 1e-6 else f"{each_s * 1e6:.2f} us"
        if self.size >= 1024:
            return f"{self.size / each_s / 1e6:.0f} MB/s"
        return f"{1e-6 / each_s:.2f} M/s"


ROWS = [
    Row("latency 0 B", "pingpong", 0, per=2),
    Row("latency 8 B", "pingpong", 8, per=2),
    Row("latency 1 KiB", "pingpong", 1 << 10, per=2),
    Row("latency 8 KiB", "pingpong", 8 << 10, per=2),
    Row("latency 64 KiB", "pingpong", 64 << 10, per=2),
    Row("bandwidth 1 MiB", "pingpong", 1 << 20, per=2, rate=True),
    Row("bandwidth 4 MiB", "pingpong", 4 << 20, per=2, rate=True),
    Row("headed by hand 1 MiB", "pingpong-headed", 1 << 20, per=2, rate=True),
    Row("1 MiB to headed", None, 1 << 20, per=2, rate=True, of="bandwidth 1 MiB",
        base="headed by hand 1 MiB"),
    Row("strided 1 KiB", "pingpong-strided", 1 << 10, per=2),
    Row("strided 64 KiB", "pingpong-strided", 64 << 10, per=2),
    Row("strided 1 MiB", "pingpong-strided", 1 << 20, per=2, rate=True),
    Row("nonblocking 8 B", "exchange", 8),
    Row("nonblocking 8 KiB", "exchange", 8 << 10),
    Row("nonblocking 1 MiB", "exchange", 1 << 20, rate=True),
    Row("nonbl. strided 64 KiB", "exchange-strided", 64 << 10),
    Row("message rate 8 B", "window", 8, per=64, rate=True),
    Row("blocking stream 8 B", "stream", 8, per=64, rate=True),
    Row("blocking stream 1 KiB", "stream", 1 << 10, per=64, rate=True),
    Row("allreduce 8 B", "allreduce", 8, collective=True),
    Row("barrier", "barrier", 0, collective=True),
    Row("send to nobody", "nobody", 8),
]
QUICK_ROWS = ("latency 8 B", "bandwidth 1 MiB", "strided 64 KiB", "nonblocking 8 B",
              "message rate 8 B", "allreduce 8 B", "barrier", "send to nobody")

# The 1 MiB targets of `header` are what its best known technique takes.
HEADER_BANDWIDTH = {("mpich", "tcp"): 0.33, ("openmpi", "tcp"): 0.34, ("mpich", "shm"): 0.99,
                    ("openmpi", "shm"): 1.20}


def target(variant, mpi, case, row):
    """("<=" or ">=", number), or None where none is set."""
    transport = case.transport
    if variant == "notice":
        return {"latency 8 B": ("<=", 1.01 if transport == "tcp" else 1.03),
                "bandwidth 1 MiB": (">=", 0.99), "message rate 8 B": (">=", 0.97)}.get(row)
    if variant == "header":
        return {"latency 8 B": ("<=", 1.03 if transport == "tcp" else 1.25),
                "1 MiB to headed": (">=", 0.99),
                "bandwidth 1 MiB": (">=", HEADER_BANDWIDTH[mpi, transport])}.get(row)
    return None


def variants(options, mpi):
    forward = os.path.join(options.build, "bench", "micro", mpi, "libforward.so")
    found = [
        Variant("plain", "no library"),
        Variant("again", "no library, again"),
        Variant("forward", "forwards only", prefix=["env", f"LD_PRELOAD={forward}"],
                provider=os.path.basename(forward)),
        Variant("notice", "notice", ["--preload"], provider=LIBRARY),
        Variant("header", "header", ["--preload"], ["env", "COSCHED_PIGGYBACK=header"], LIBRARY),
    ]
    if not options.quick:
        found.append(Variant("polls", "blocking calls made of polls", ["--preload"],
                             ["env", "COSCHED_WAIT=yield", "COSCHED_SPIN_LIMIT=1s"], LIBRARY))
    return found


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """Everything that is measured in one case."""

    def __init__(self, options, case, folder, stack):
        self.options = options
        self.case = case
        self.folder = folder
        self.stack = stack  # takes the labs down in the end
        self.labs = {}
        self.shuffle = random.Random(f"{options.seed} {case.name}")
        self.disturbed = 0  # turns that no attempt was undisturbed in

    def _lab(self, name):
        if name not in self.labs:
            self.labs[name] = self.stack.enter_context(standing.Lab(
                name, self.options.build, self.case.nodes, self.case.cpus_per_node))
        return self.labs[name]

    def _program(self, mpi):
        return os.path.join(self.options.build, "bench", "micro", mpi, "exchanges")

    def _options(self, mpi, variant):
        return ["--mpi", mpi, "--transport", self.case.transport, *variant.options]

    def _folder(self):
        return tempfile.mkdtemp(dir=self.folder)

    def usable(self, mpi):
        """The variants that this build, MPI and case have; says why one is left out."""
        chosen = []
        for variant in variants(self.options, mpi):
            if variant.name in ("notice", "header"):
                carrier, text = standing.carrier(
                    self._lab("notice"), self._folder(), self._program(mpi), self.case.ranks,
                    self._options(mpi, variant), variant.prefix)
                expected = variant.name if self.case.carrier else "off"
                if variant.name == "notice" and carrier != expected:
                    raise standing.Failed(
                        f"{self.case.name}, {mpi}: the library should say `carrier {expected}`, but "
                        f"says {carrier or 'nothing'}; its job printed:\n{text[-2000:]}")
                if variant.name == "header" and carrier != "header":
                    unknown = "COSCHED_PIGGYBACK=header is not one of" in text
                    say(f"{self.case.name}, {mpi}: `header` is left out: " + (
                        "this library does not know it" if unknown else
                        f"with it such a job says `carrier {carrier}`"))
                    continue
            chosen.append(variant)
        return chosen

    def _start(self, mpi, variant):
        return standing.Job(self._lab(variant.name), self._folder(), self.case.ranks,
                            self._program(mpi), self._options(mpi, variant), variant.prefix)

    def _check(self, variant, job):
        name = job.ready()
        ours = name in (LIBRARY, "libforward.so")
        if name != variant.provider and (variant.provider or ours or name == "several"):
            raise standing.Failed(f"variant {variant.name}: MPI_Send comes from {name}, not from "
                                  f"{variant.provider or 'the MPI'}")

    def _turn(self, job, row, repeats):
        """Seconds of one repetition, of the least disturbed attempt."""
        ranks = self.case.ranks if row.collective else 2
        best = None
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE_S * (attempt > 0))
            seconds, lost_s = job.ask(row.pattern, row.size, repeats, ranks)
            if best is None or lost_s / seconds < best[1]:
                best = seconds / repeats, lost_s / seconds
            if best[1] <= LOST_MAX:
                return best[0]
        self.disturbed += 1
        return best[0]

    def _repeats(self, job, row):
        """How many repetitions make a turn."""
        repeats, seconds = 4, 0
        while True:
            seconds = min(job.ask(row.pattern, row.size, repeats,
                                  self.case.ranks if row.collective else 2)[0] for _ in range(3))
            if seconds >= TURN_S / 3 or repeats >= 10_000_000:
                return max(2, round(repeats * TURN_S / seconds))
            repeats *= 4

    def rows(self):
        # Ranks that spin without a CPU of their own would measure the kernel's scheduler.
        room = self.case.ranks <= len(os.sched_getaffinity(0))
        return [row for row in ROWS if row.pattern and (room or not row.collective)
                and (not self.options.quick or row.name in QUICK_ROWS)]

    def sit(self, mpi, chosen, repeats, rounds):
        """One sitting: {row name: {variant name: [seconds of a repetition, one per round]}}."""
        times = {row.name: {variant.name: [] for variant in chosen} for row in self.rows()}
        jobs = {}
        patient = False
        try:
            for variant in chosen:
                jobs[variant.name] = self._start(mpi, variant)
            for variant in chosen:
                self._check(variant, jobs[variant.name])
            for row in self.rows():
                if row.name not in repeats:
                    repeats[row.name] = self._repeats(jobs["plain"], row)
            for _ in range(rounds):
                for row in self.rows():
                    for variant in self.shuffle.sample(chosen, len(chosen)):
                        times[row.name][variant.name].append(
                            self._turn(jobs[variant.name], row, repeats[row.name]))
            patient = True
        finally:
            for job in jobs.values():
                job.tell_end(patient)
            for job in jobs.values():
                job.end()
        return times

    def measure(self, mpi):
        """The sittings of this case under one MPI."""
        chosen = self.usable(mpi)
        repeats, sittings = {}, []
        share, odd = divmod(self.options.rounds, self.options.sittings)
        for number in range(self.options.sittings):
            say(f"{self.case.name}, {mpi}: sitting {number + 1} of {self.options.sittings}")
            sittings.append(self.sit(mpi, chosen, repeats, share + (number < odd)))
        return sittings


def cells(mpi, case, sittings, seed):
    """The table's lines of one case and MPI, as records."""
    for row in ROWS:
        if row.of not in sittings[0] or row.base not in sittings[0]:
            continue
        plain = [sitting[row.base]["plain"] for sitting in sittings]
        line = {"mpi": mpi, "case": case.name, "row": row.name, "ratios": {},
                "plain_s": statistics.median(value for each in plain for value in each) / row.per,
                "plain": row.text(statistics.median(value for each in plain for value in each))}
        for name in sittings[0][row.of]:
            if name == "plain":
                continue
            pairs = [[row.ratio(with_s, without_s)
                      for with_s, without_s in zip(sitting[row.of][name], base)]
                     for sitting, base in zip(sittings, plain)]
            line["ratios"][name] = cell(pairs, target(name, mpi, case, row.name), seed)
        yield line


def cell(pairs, goal, seed):
    middle, low, high = ratios.median_and_interval(pairs, seed)
    return {"median": middle, "low": low, "high": high, "pairs": sum(map(len, pairs)), "target": goal,
            "verdict": ratios.verdict(middle, low, high, goal) if goal else ""}


def kernel_programs(options, mpi):
    """[(name, [path and arguments])] of those that are wanted."""
    programs = [(f"{kernel}.{size}", [os.path.join(options.build, "bench", "npb", mpi, "bin", kernel),
                                      size, "--repeat", str(repeat)])
                for kernel, size, repeat in OUR_KERNELS]
    if options.npb_dir:
        folder = options.npb_dir.replace("{mpi}", mpi)
        programs.append((OFFICIAL_KERNEL[:4], [os.path.join(folder, "bin", OFFICIAL_KERNEL)]))
    return [(name, program) for name, program in programs
            if not options.kernel or name.split(".")[0] in options.kernel]


def kernel_progress(name, mpi, count):
    """Called with each run, so that whoever waits sees how it goes."""
    def show(number, one):
        one = {key.removeprefix("micro-"): seconds for key, seconds in one.items()}
        say(f"{KERNELS}, {mpi}: {name}, {number} of {count}: {one['plain']:.2f} s, with the library "
            f"{one['notice'] / one['plain']:.4f}")
    return show


def kernel_lines(options, folder, mpi, times):
    """The table's lines of whole programs, as records; every single time goes to `times`."""
    with contextlib.ExitStack() as stack:
        chosen = [variant for variant in Bench(options, CASES[0], folder, stack).usable(mpi)
                  if variant.name in KERNEL_VARIANTS
                  and (variant.name != "again" or not options.no_again)]
    # What follows the options of `lab mpiexec` is the program: a prefix may stand there.
    jobs = [interleave.Variant(f"micro-{variant.name}", *variant.options, *variant.prefix)
            for variant in chosen]
    for name, program in kernel_programs(options, mpi):
        try:
            runs = interleave.compare(jobs, options.build, mpi, program, options.kernel_runs, options.seed,
                                      progress=kernel_progress(name, mpi, options.kernel_runs))
        except interleave.Disturbed as error:
            raise standing.Failed(str(error)) from error
        runs = [{key.removeprefix("micro-"): seconds for key, seconds in one.items()} for one in runs]
        times.append({"mpi": mpi, "case": KERNELS, "kernel": name, "runs": runs})
        plain_s = statistics.median(one["plain"] for one in runs)
        line = {"mpi": mpi, "case": KERNELS, "row": name, "ratios": {}, "plain_s": plain_s,
                "plain": f"{plain_s:.3f} s"}
        for variant in chosen[1:]:
            # Each run starts its jobs afresh: a sitting of its own.
            pairs = [[one[variant.name] / one["plain"]] for one in runs]
            goal = KERNEL_TARGET if variant.name == "notice" else None
            line["ratios"][variant.name] = cell(pairs, goal, options.seed)
        yield line


COLUMNS = ("again", "forward", "notice", "header", "polls")


def print_table(lines, out):
    shown = [name for name in COLUMNS if any(name in line["ratios"] for line in lines)]
    goals = [name for name in shown if name in ("notice", "header")]
    heads = ["MPI", "case", "measurement", "plain", *shown, *(f"{name} is to be" for name in goals)]
    body = []
    for line in lines:
        texts = [line["mpi"], line["case"], line["row"], line["plain"]]
        for name in shown:
            one = line["ratios"].get(name)
            texts.append("-" if one is None else
                         f"{one['median']:.4f} {one['low']:.3f}-{one['high']:.3f}{one['verdict']:1}")
        for name in goals:
            goal = line["ratios"].get(name, {}).get("target")
            texts.append(f"{goal[0]} {goal[1]:g}" if goal else "")
        body.append(texts)
    widths = [max(len(texts[i]) for texts in [heads, *body]) for i in range(len(heads))]
    for texts in [heads, *body]:
        print("  ".join(text.rjust(width) if i == 3 else text.ljust(width)
                        for i, (text, width) in enumerate(zip(texts, widths))).rstrip(), file=out)
    print("""
Ratios to plain (no library; `again`: a second job without one, which shows what cannot be told from
1): medians of the pairs and the 90 % interval of the median. Times: with / without. Bandwidths and
rates: without / with, so that more is better. `?`: not what it is to be, but the interval reaches
it; `!`: missed.""", file=out)


def pieces(options):
    program = os.path.join(options.build, "bench", "micro", "pieces")
    if not os.path.exists(program):
        return None
    done = subprocess.run([program, "--benchmark_format=json", f"--benchmark_min_time={0.02 if options.quick else 0.1}",
                           "--benchmark_repetitions=5"], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise standing.Failed(f"{program} failed:\n{done.stderr.strip()}")
    return {one["run_name"]: one["each"] * 1e9 for one in json.loads(done.stdout)["benchmarks"]
            if one.get("aggregate_name") == "median"}


def print_pieces(found, out):
    print(file=out)
    if found is None:
        print("Pieces of the library in one process: bench/micro/pieces was not built "
              "(libbenchmark-dev).", file=out)
        return
    print("Pieces of the library in one process, ns each (medians of 5):", file=out)
    for name, each_ns in found.items():
        print(f"  {name:40} {each_ns:8.2f}", file=out)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="run_micro.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"))
    parser.add_argument("--mpi", choices=[*FAMILIES, "both"], default="both")
    parser.add_argument("--case", action="append", choices=[*(case.name for case in CASES), KERNELS],
                        help="; ".join(f"{case.name}: {case.text}" for case in CASES)
                        + f"; {KERNELS}: whole programs on two nodes. May be repeated; default: all, "
                        f"with --quick all but {KERNELS}")
    parser.add_argument("--rounds", type=asked.at_least(1), metavar="N", help="pairs of each ratio (default: 40)")
    parser.add_argument("--sittings", type=asked.at_least(1), metavar="N",
                        help="how often jobs are started afresh; rounds are spread over them "
                             "(default: 8)")
    parser.add_argument("--kernel-runs", type=asked.at_least(1), default=20, metavar="N",
                        help="pairs of each kernel's ratio (default: 20)")
    parser.add_argument("--kernel", action="append", choices=[*(name for name, *_ in OUR_KERNELS), "lu"],
                        help="only this one; may be repeated")
    parser.add_argument("--no-again", action="store_true",
                        help="kernels without `again`, a third quicker")
    parser.add_argument("--npb-dir", metavar="DIR",
                        help=f"also DIR/bin/{OFFICIAL_KERNEL} of the official NPB; {{mpi}} stands for "
                             "the MPI")
    parser.add_argument("--quick", action="store_true",
                        help="a few rows, 4 rounds in 2 sittings: to see that it works")
    parser.add_argument("--seed", type=int, default=0, help="of the order of turns")
    parser.add_argument("--json", type=asked.new_file, metavar="FILE", help="write every single time, and the table")
    options = parser.parse_args(arguments)
    options.build = os.path.abspath(options.build)
    options.rounds = options.rounds or (4 if options.quick else 40)
    options.sittings = options.sittings or min(options.rounds, 2 if options.quick else 8)
    options.case = options.case or [case.name for case in CASES] + [KERNELS] * (not options.quick)
    if options.kernel == ["lu"] and not options.npb_dir:
        parser.error("--kernel lu: is one of the official NPB's; say where they are with --npb-dir")
    for name in ("kernel", "npb_dir", "no_again"):
        if getattr(options, name) and KERNELS not in options.case:
            parser.error(f"--{name.replace('_', '-')}: {KERNELS} are not run here; say --case {KERNELS}")
    if options.npb_dir:
        options.npb_dir = os.path.abspath(options.npb_dir)
    if not 1 <= options.sittings <= options.rounds:
        parser.error("--sittings: at least one round in each, so no more than --rounds")
    return options


def families(options):
    wanted = FAMILIES if options.mpi == "both" else (options.mpi,)
    built = [mpi for mpi in wanted if shutil.which("mpiexec." + mpi) and os.path.exists(
        os.path.join(options.build, "bench", "micro", mpi, "exchanges"))]
    missing = sorted(set(wanted) - set(built))
    if not built or (missing and options.mpi != "both"):
        raise standing.Failed(f"no bench/micro/<mpi>/exchanges for {', '.join(missing)} in "
                              f"{options.build}, or no mpiexec.<mpi>: build first")
    for mpi in missing:
        say(f"{mpi} is left out: it is not installed, or {options.build} was built without it")
    return built


def check_programs(options, mpis):
    """What is missing is learnt before the first hour."""
    needed = [os.path.join(options.build, name) for name in ("classd/classd", "timerd/timerd", launch.LIBRARY)]
    if KERNELS in options.case:
        needed += [program[0] for mpi in mpis for _, program in kernel_programs(options, mpi)]
    for path in needed:
        if not os.access(path, os.R_OK):
            raise standing.Failed(f"{path} is not there: build first, or look at --build and --npb-dir")


def run(options):
    mpis = families(options)
    if os.geteuid() != 0:
        raise standing.Failed("the virtual cluster needs root: run it as root")
    check_programs(options, mpis)
    results = {"options": vars(options), "kernel": platform.release(), "times": [], "table": []}
    try:
        measure_all(options, mpis, results)
        results["pieces_ns"] = pieces(options)
    finally:
        if results["table"]:
            print(f"kernel {platform.release()}, {len(os.sched_getaffinity(0))} CPUs, {options.rounds} rounds "
                  f"in {options.sittings} sittings, seed {options.seed}\n")
            print_table(results["table"], sys.stdout)
        keep(results, options.json)
    print_pieces(results["pieces_ns"], sys.stdout)


def measure_all(options, mpis, results):
    """Adds what is measured to `results`, as it comes."""
    # Below /run: a node sees the host's, whatever TMPDIR says (which is private to nodes).
    with tempfile.TemporaryDirectory(prefix="cosched-micro-", dir="/run") as folder:
        for case in CASES:
            if case.name not in options.case:
                continue
            with contextlib.ExitStack() as stack:
                bench = Bench(options, case, folder, stack)
                for mpi in mpis:
                    sittings = bench.measure(mpi)
                    results["times"].append({"mpi": mpi, "case": case.name, "sittings": sittings})
                    results["table"] += cells(mpi, case, sittings, options.seed)
                    keep(results, options.json)
                if bench.disturbed:
                    say(f"{case.name}: {bench.disturbed} turns were disturbed {ATTEMPTS} times and "
                        "are counted all the same; the machine is busy")
        for mpi in mpis if KERNELS in options.case else ():
            for line in kernel_lines(options, folder, mpi, results["times"]):
                results["table"].append(line)
                keep(results, options.json)


def keep(results, path):
    """Writes what there is so far: an hour's kernels are not lost with the last one."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def main():
    options = parse(sys.argv[1:])
    try:
        run(options)
    except standing.Failed as failure:
        sys.exit(f"run_micro: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    sys.exit(guarded(main))
