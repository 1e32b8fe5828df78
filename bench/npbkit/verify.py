"""bench/verify_npb.sh: every kernel in every class on every number of ranks, in the lab or beside it."""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import asked
from guard import putting_away

from . import TrialError, cases, output, results

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = os.path.join(BENCH, "lab")
LAB_NAME = "cosched-lab-npb"
WAYS = {
    "library": ["--preload", "--env", "COSCHED_WAIT=yield"],
    "plain": [],
}
VERIFIED, IN_FINALIZE = "verified", "verified, hung in MPI_Finalize"
GOOD = (VERIFIED, IN_FINALIZE)


def judge(report, text):
    """What became of a run, in a few words: of GOOD, or how it failed. `report` is `lab mpiexec`'s."""
    said = output.ours(text)
    if report["timed_out"]:
        return "TIME LIMIT" + (" after the result" if said else "")
    if said and not said.verified:
        return "WRONG RESULT"
    if report["exit_status"] != 0:
        return f"ENDED WITH {report['exit_status']}" + (" after the result" if said else "")
    if not said:
        return "NO RESULT"
    return IN_FINALIZE if report["hung_in_finalize"] else VERIFIED


class Lab:
    def __init__(self, options):
        self.options = options
        self.name = os.environ.get("COSCHED_NPB_LAB", LAB_NAME)
        self.owner = ["--owner", str(os.getpid())]  # whose lab it is; another session's is left alone

    def __enter__(self):
        options = self.options
        try:
            self._call("up", "--nodes", str(options.nodes), "--cpus-per-node", str(options.cpus_per_node),
                       "--build", options.build, *self.owner)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with putting_away():
            subprocess.run([LAB, "--name", self.name, "down", *self.owner], stdin=subprocess.DEVNULL, check=False)

    def _call(self, *arguments):
        done = subprocess.run([LAB, "--name", self.name, *arguments], stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise TrialError(f"lab {arguments[0]} failed")

    def run(self, case):
        """(report, text) of one run."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            done = subprocess.run(
                [LAB, "--name", self.name, "mpiexec", "--mpi", case.mpi, "-n", str(case.ranks), "--timeout",
                 str(self.options.timeout), "--done-pattern", output.DONE, "--report", report,
                 *WAYS[case.way], program(self.options, case), case.size],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            text = done.stdout.decode(errors="replace")
            if not os.path.exists(report):
                raise TrialError(f"{case}: the lab could not run it:\n{text[-2000:]}")
            with open(report, encoding="utf-8") as file:
                return json.load(file), text


def program(options, case):
    path = os.path.join(options.build, "bench", "npb", case.mpi, "bin", case.kernel)
    if not os.access(path, os.X_OK):
        raise TrialError(f"{case}: there is no program {path}: build first, or --build DIR")
    return path


def wanted(options):
    return [case for way in cases.words(options.ways, list(WAYS), "way")
            for case in cases.make(cases.words(options.kernels, cases.KERNELS, "kernel"),
                                   cases.words(options.classes, cases.CLASSES, "class"),
                                   cases.counts(options.ranks),
                                   cases.words(options.mpi, cases.FAMILIES, "MPI"), way)]


def line(record):
    case = cases.of_record(record)
    job = f"{case.kernel}.{case.size}.{case.ranks}"
    return f"{case.mpi:8} {case.way:8} {job:9} {record['wall_s']:8.2f} s  {record['verdict']}"


def try_all(options, todo, store):
    """Runs what is to be run, printing a line each. Returns how many are left."""
    begun = time.monotonic()
    for place, case in enumerate(todo):
        if time.monotonic() - begun > options.limit:
            return len(todo) - place
        report, text = options.lab.run(case)
        verdict = judge(report, text)
        said = output.ours(text)
        store.add({**case.record(), "verdict": verdict, "wall_s": round(report["response_s"], 3),
                   "seconds": said.seconds if said else None})
        print(line(store.records[-1]), flush=True)
        if verdict not in GOOD:
            print(re.sub("(?m)^", "    ", text[-options.tail:].rstrip()), flush=True)
    return 0


def summary(records):
    """A Markdown table of what became of all runs: a row per way, class and kernel, a column per MPI; in
    it, for each number of ranks that was tried, how often it verified of how many runs."""
    found = collections.defaultdict(list)
    for record in records:
        found[record["way"], record["size"], record["kernel"], record["mpi"], record["ranks"]].append(
            record["verdict"])
    mpis = [mpi for mpi in cases.FAMILIES if any(mpi == key[3] for key in found)]
    rows = [["way", "class", "kernel", *mpis], ["---"] * (3 + len(mpis))]
    places = [list(WAYS), cases.CLASSES, cases.KERNELS]
    for way, size, kernel in sorted({key[:3] for key in found}, key=lambda key: [
            place.index(word) for place, word in zip(places, key)]):
        cells = []
        for mpi in mpis:
            cells.append(", ".join(cell(ranks, found[way, size, kernel, mpi, ranks]) for ranks in sorted(
                {key[4] for key in found if key[:4] == (way, size, kernel, mpi)})) or "-")
        rows.append([way, size, kernel, *cells])
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
    return text + f"\n\\* {IN_FINALIZE}\n" * (IN_FINALIZE in [record["verdict"] for record in records])


def cell(ranks, verdicts):
    """One number of ranks in a cell of the summary: "4", "4 (3 runs)", "4*", "4 (1 of 3 TIME LIMIT)". The star is
    for a hang in MPI_Finalize."""
    total = len(verdicts)
    notes = [f"{verdicts.count(verdict)} of {total} {verdict}" for verdict in dict.fromkeys(verdicts)
             if verdict not in GOOD]
    if not notes and total > 1:
        notes = [f"{total} runs"]
    return f"{ranks}" + "*" * (IN_FINALIZE in verdicts) + (f" ({', '.join(notes)})" if notes else "")


def parser():
    top = argparse.ArgumentParser(
        prog="verify_npb.sh",
        description="Runs our NAS kernels in a virtual cluster, prints a line for each, and ends with 1 when "
                    "one did not verify.")
    top.add_argument("--kernels", default="all", metavar="LIST", help="e.g. cg,lu (default: all)")
    top.add_argument("--classes", default="S", metavar="LIST", help="of S,W,A,B,C (default: S)")
    top.add_argument("--ranks", default="1-16", metavar="LIST",
                     help="e.g. 1,2,4 or 1-16, of which each kernel takes what it can (default: 1-16)")
    top.add_argument("--mpi", default="all", metavar="LIST", help="of mpich,openmpi (default: both)")
    top.add_argument("--ways", default="library", metavar="LIST",
                     help="library: preloaded, ranks yield; plain: without it (default: library)")
    top.add_argument("--runs", type=asked.at_least(1), default=1, metavar="N", help="of each (default: 1)")
    top.add_argument("--nodes", type=asked.at_least(1), default=2, metavar="N")
    top.add_argument("--cpus-per-node", type=asked.at_least(1), default=1, metavar="N")
    top.add_argument("--timeout", type=asked.at_least(0, float), default=600, metavar="S", help="of one run (default: 600)")
    top.add_argument("--results", metavar="FILE",
                     help="keep results in FILE, and leave out what has verified there")
    top.add_argument("--limit", type=float, default=float("inf"), metavar="S",
                     help="begin no run after so many seconds; with --results, the same command goes on later")
    top.add_argument("--summary", action="store_true", help="run nothing: only the table of --results, Markdown")
    top.add_argument("--build", default=os.path.join(os.path.dirname(BENCH), "build", "release"), metavar="DIR",
                     help="use this build as it is (default: build/release, made anew)")
    top.set_defaults(tail=2000)
    return top


def left_to_do(todo, runs, records):
    """`todo`, each as often as it is still to verify."""
    done = collections.Counter(cases.of_record(record) for record in records if record["verdict"] in GOOD)
    return [case for turn in range(runs) for case in todo if done[case] <= turn]


def run(options):
    options.build = os.path.abspath(options.build)
    store = results.Store(options.results)
    if options.summary:
        print(summary(store.records), end="")
        return 0
    every = wanted(options)
    cases.check_launchers(every)
    if not every:
        raise TrialError("no kernel takes such a number of ranks: squares for bt and sp, powers of two else")
    for case in every:
        program(options, case)
    todo = left_to_do(every, options.runs, store.records)
    if os.geteuid() != 0:
        raise TrialError("the virtual cluster needs root: run it as root")
    before = len(store.records)
    with Lab(options) as options.lab:
        left = try_all(options, todo, store)
    new = store.records[before:]
    bad = sum(record["verdict"] not in GOOD for record in new)
    hung = sum(record["verdict"] == IN_FINALIZE for record in new)
    print(f"{len(new) - bad} verified ({hung} then hung in MPI_Finalize), {bad} did not, "
          f"{len(every) * options.runs - len(todo)} verified before, {left} left")
    return 1 if bad else 3 if left else 0


def main(arguments=None):
    try:
        return run(parser().parse_args(arguments))
    except TrialError as error:
        print(f"verify_npb: {error}", file=sys.stderr)
        return 2
