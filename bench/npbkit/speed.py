"""bench/run_npb_speed.sh: our kernels and the official programs in turn, and the ratios of their times."""

import argparse
import os
import random
import statistics
import sys
import time

import asked
from micro import ratios

from . import TrialError, cases, launch, output, results

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TARGET = ("<=", 1.3)
# What printing rounds away, and by how much the counts of operations may differ.
PRINTED_OFFICIAL_S = 0.0051
PRINTED_OURS_S = 0.00051
PRINTED_MOPS = 0.051
SAME_OPERATIONS = 0.01
CPUS = len(os.sched_getaffinity(0))


def programs(options, case):
    """{"ours": command, "official": command}; None where there is no official program."""
    ours = os.path.join(options.build, "bench", "npb", case.mpi, "bin", case.kernel)
    official = os.path.join(options.npb_dir.replace("{mpi}", case.mpi), "bin",
                            f"{case.kernel}.{case.size}.x")
    if not os.access(ours, os.X_OK):
        raise TrialError(f"{case}: there is no program {ours}: build first, or --build DIR")
    if not os.access(official, os.X_OK):
        return None
    return {"ours": [ours, case.size], "official": [official]}


def compare(ours, official):
    """(our time by theirs, their time): both finer than times are printed, since both count the same
    operations and print a rate with more digits. TrialError when they do not."""
    if ours.mops <= 0 or official.mops <= 0:
        raise TrialError("too short to be measured: take a larger class")
    ratio = official.mops / ours.mops
    seconds = ours.seconds / ratio
    doubt_s = (PRINTED_OFFICIAL_S + PRINTED_OURS_S / ratio
               + seconds * (SAME_OPERATIONS + PRINTED_MOPS / min(ours.mops, official.mops)))
    if abs(seconds - official.seconds) > doubt_s:
        raise TrialError(f"the programs do not count the same operations: by its rate the official one took "
                         f"{seconds:.3f} s, but it says {official.seconds:.2f} s")
    return ratio, seconds


def measure(options, case, turn):
    """A pair: both programs, one after the other, in random order."""
    commands = programs(options, case)
    library = os.path.join(options.build, "pmpi", "libcosched_pmpi.so") if case.way == "yield" else None
    shuffle = random.Random(f"{options.seed} {case} {turn}")
    said, order = {}, shuffle.sample(sorted(commands), len(commands))
    for name in order:
        text = launch.run(case.mpi, case.ranks, commands[name], options.timeout, library)
        said[name] = (output.ours if name == "ours" else output.official)(text)
        if said[name] is None or not said[name].verified:
            raise TrialError(f"{case}: {' '.join(commands[name])} did not verify:\n{text[-2000:]}")
    try:
        ratio, official_s = compare(said["ours"], said["official"])
    except TrialError as error:
        raise TrialError(f"{case}: {error}") from None
    return {**case.record(), "first": order[0], "ratio": ratio, "ours_s": said["ours"].seconds,
            "official_s": official_s}


def wanted(options):
    """All cases for which there is an official program; ranks that have no CPU of their own yield."""
    found = []
    for case in cases.make(cases.words(options.kernels, cases.KERNELS, "kernel"),
                           cases.words(options.classes, cases.CLASSES, "class"),
                           cases.counts(options.ranks),
                           cases.words(options.mpi, cases.FAMILIES, "MPI"), "plain"):
        if case.ranks > CPUS:
            case = cases.Case(case.kernel, case.size, case.ranks, case.mpi, "yield")
        if programs(options, case):
            found.append(case)
        else:
            print(f"left out: there is no official {case.kernel}.{case.size}.x for {case.mpi}", file=sys.stderr)
    if not found:
        raise TrialError(f"--npb-dir {options.npb_dir}: no bin/KERNEL.CLASS.x for what is to be measured")
    return found


def measure_all(options, todo, store):
    """Pairs round by round, so that an end in between leaves all cases equally known. Returns how many are
    left."""
    begun = time.monotonic()
    count = {case: sum(cases.of_record(record) == case for record in store.records) for case in todo}
    left = sum(max(0, options.runs - number) for number in count.values())
    for turn in range(options.runs):
        for case in todo:
            if count[case] > turn:
                continue
            if time.monotonic() - begun > options.limit:
                return left
            store.add(measure(options, case, turn))
            left -= 1
            print(f"{case}: {store.records[-1]['ratio']:.3f}, {left} pairs left", file=sys.stderr, flush=True)
    return left


def table(records):
    """Markdown: a row per kernel, class and number of ranks, two columns per MPI."""
    found = {}
    for record in records:
        found.setdefault(cases.of_record(record), []).append(record)
    mpis = [mpi for mpi in cases.FAMILIES if any(case.mpi == mpi for case in found)]
    rows = [["kernel", "class", "ranks"] + [text for mpi in mpis for text in (f"{mpi}: ours, official s",
                                                                             "ratio (90 %)")]]
    rows.append(["---"] * len(rows[0]))
    keys = {(cases.KERNELS.index(case.kernel), cases.CLASSES.index(case.size), case.ranks, case.way)
            for case in found}
    for kernel, size, ranks, way in sorted(keys):
        row = [cases.KERNELS[kernel], cases.CLASSES[size], f"{ranks}" + ", yielding" * (way == "yield")]
        for mpi in mpis:
            row += cell(found.get(cases.Case(cases.KERNELS[kernel], cases.CLASSES[size], ranks, mpi, way)))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def cell(pairs):
    if not pairs:
        return ["-", "-"]
    # Each pair started its programs anew.
    middle, low, high = ratios.median_and_interval([[pair["ratio"]] for pair in pairs])
    times = [statistics.median(pair[name] for pair in pairs) for name in ("ours_s", "official_s")]
    interval = f"({low:.2f}-{high:.2f})" if len(pairs) > 1 else "(one pair)"
    return [", ".join(f"{seconds:.3g}" for seconds in times),
            f"{middle:.2f} {interval}{ratios.verdict(middle, low, high, TARGET)}"]


def parser():
    top = argparse.ArgumentParser(
        prog="run_npb_speed.sh",
        description="Runs our NAS kernels and the official programs in turn, and prints the ratios of the times "
                    "that they take to compute, as a Markdown table.")
    top.add_argument("--npb-dir", metavar="DIR",
                     help="official programs DIR/bin/KERNEL.CLASS.x; {mpi} in DIR stands for mpich or openmpi")
    top.add_argument("--kernels", default="all", metavar="LIST", help="e.g. cg,lu (default: all)")
    top.add_argument("--classes", default="W,A", metavar="LIST", help="of S,W,A,B,C (default: W,A)")
    top.add_argument("--ranks", default="1,2", metavar="LIST",
                     help="e.g. 1,2,4 or 1-16, of which each kernel takes what it can (default: 1,2). Where "
                          "there are more ranks than CPUs, both run with the library, and ranks yield")
    top.add_argument("--mpi", default="all", metavar="LIST", help="of mpich,openmpi (default: both)")
    top.add_argument("--runs", type=asked.at_least(1), default=5, metavar="N", help="pairs of each (default: 5)")
    top.add_argument("--seed", type=int, default=0, metavar="N", help="of the order within pairs")
    top.add_argument("--timeout", type=asked.at_least(0, float), default=600, metavar="S", help="of one run (default: 600)")
    top.add_argument("--results", metavar="FILE", help="keep pairs in FILE, and use those that are there")
    top.add_argument("--limit", type=float, default=float("inf"), metavar="S",
                     help="begin no pair after so many seconds; with --results, the same command goes on later")
    top.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"), metavar="DIR",
                     help="use this build as it is (default: build/release, made anew)")
    top.add_argument("--table", action="store_true", help="run nothing: only the table of --results")
    return top


def run(options):
    store = results.Store(options.results)
    left = 0
    if not options.table:
        if not options.npb_dir:
            raise TrialError("--npb-dir DIR: say where the official programs are")
        options.npb_dir, options.build = os.path.abspath(options.npb_dir), os.path.abspath(options.build)
        todo = wanted(options)
        cases.check_launchers(todo)
        left = measure_all(options, todo, store)
    print(table(store.records), end="")
    if left:
        print(f"{left} pairs are left", file=sys.stderr)
    return 3 if left else 0


def main(arguments=None):
    try:
        return run(parser().parse_args(arguments))
    except TrialError as error:
        print(f"run_npb_speed: {error}", file=sys.stderr)
        return 2
