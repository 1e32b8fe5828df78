#!/usr/bin/env python3
"""Runs MPICH's own test suite with and without the preloaded library, and compares.

Each test runs in a virtual cluster (bench/lab), in every variant one after the other. A test whose
verdict is not the same everywhere is repeated, so that a flaky test can be told from a difference.
README.md beside this file says how to get the suite.
"""

import argparse
import json
import os
import resource
import signal
import sys
import time

import judge
import report
from lab import CARRIERS, ROOT, WAITS, Lab, variants
from testlist import FOLDERS, Suite

TAIL = 3000  # characters of the output that are kept
CANDIDATES = 5  # tests with which a variant is tried first


class Campaign:
    def __init__(self, options):
        self.options = options
        self.variants = options.variants
        self.suite = Suite(options.suite)
        self.path = os.path.join(options.out, "runs.jsonl")
        found = self.suite.tests(options.dirs)
        if options.list:
            with open(options.list, encoding="utf-8") as file:
                wanted = {line.strip() for line in file if line.strip()}
            found = [test for test in found if test.name in wanted or
                     f"{test.folder}/{test.program}" in wanted]
        reasons = [(test, self.suite.why_not(test, options.max_ranks, options.xfail))
                   for test in found]
        self.tests = [test for test, reason in reasons if reason is None]
        self.skipped = [(test, reason) for test, reason in reasons if reason is not None]
        self.results = report.Results(self._recorded())

    def _recorded(self):
        if not os.path.exists(self.path):
            return []
        if not (self.options.resume or self.options.only_report):
            raise SystemExit(f"{self.path} is there: give --resume to go on, or another --out")
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def _names(self):
        return [variant.name for variant in self.variants]

    def _run(self, lab, test, variant):
        limit_s = min(test.limit_s, self.options.timeout)
        output, found = lab.run(variant, test.ranks, self.suite.program(test), test.arguments,
                                variables=test.variables, mpiexec=test.mpiexec_arguments,
                                limit_s=limit_s,
                                done=judge.DONE if judge.awaits_done(test.rule) else None)
        verdict, reason = judge.judge(test.rule, output, found)
        record = {"test": test.name, "variant": variant.name, "verdict": verdict, "reason": reason,
                  "seconds": round(found["response_s"], 3), "cpu_s": round(found["cpu_s"], 3),
                  "status": found["exit_status"], "when": round(time.time(), 1),
                  "output": output[-TAIL:]}
        self.results.add(record)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record

    def check_library(self, lab):
        """The library says at the end of a run what it was; a variant in which it is not what it is
        meant to be would show nothing. Tests that fail say nothing either, so several are tried."""
        candidates = [test for test in self.tests if test.ranks >= self.options.nodes and
                      not test.rule and not test.expected_to_fail][:CANDIDATES]
        for variant in self.variants if candidates else []:
            if not variant.preload:
                continue
            for test in candidates:
                output, _ = lab.run(variant, test.ranks, self.suite.program(test), test.arguments,
                                    variables=["COSCHED_STATS=1", *test.variables],
                                    limit_s=self.options.timeout)
                words = [line for line in output.splitlines() if line.startswith("cosched:")]
                if any(" carrier " in line for line in words):
                    print(f"{variant.name}: " + " ".join(words), flush=True)
                    break
            else:
                raise SystemExit(f"variant {variant.name}: the library is not at work in "
                                 f"{test.name}:\n{output}")

    def run(self):
        with Lab(self.options) as lab:
            self.check_library(lab)
            for number, test in enumerate(self.tests, 1):
                for variant in self._order(test):
                    if not self.results.attempts(test.name, variant.name):
                        record = self._run(lab, test, variant)
                        print(f"{number}/{len(self.tests)} {test.name}: {variant.name} "
                              f"{record['verdict']} {record['reason']} {record['seconds']:.1f} s",
                              flush=True)
            self._repeat(lab)

    def _order(self, test):
        """The variants, one by one. With --lean the plain one comes last, and only for a test that
        has not passed in all others."""
        if not self.options.lean:
            yield from self.variants
            return
        others = [variant for variant in self.variants if variant.preload]
        yield from others
        if any(self.results.good(test.name, variant.name)[0] == 0 for variant in others):
            yield from [variant for variant in self.variants if not variant.preload]

    def _is_complete(self, test):
        return all(self.results.attempts(test.name, variant.name) for variant in self._order(test))

    def _repeat(self, lab):
        for test in self.tests:
            if not self.results.differs(test.name, self._names()):
                continue
            for attempt in range(2, self.options.repeat + 2):
                for variant in self.variants:
                    if len(self.results.attempts(test.name, variant.name)) < attempt:
                        record = self._run(lab, test, variant)
                        print(f"again: {test.name}: {variant.name} {record['verdict']} "
                              f"{record['reason']} {record['seconds']:.1f} s", flush=True)

    def write_report(self):
        complete = [test for test in self.tests if self._is_complete(test)]
        left = [(test, "not yet run") for test in self.tests if test not in complete]
        title = f"MPICH's test suite on {self.options.mpi}, {self.options.nodes} node(s)"
        lines = report.compose(title, self.results, complete, self.skipped + left, self._names())
        path = os.path.join(self.options.out, "report.md")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        print(f"report: {path}")
        return any(self.results.differs(test.name, self._names()) and
                   self.results.kind(test.name, self._names()) == report.REAL for test in complete)


def parser():
    top = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    top.add_argument("--suite", required=True, metavar="DIR",
                     help="where the suite's test/mpi was configured and built for the MPI")
    top.add_argument("--mpi", choices=["mpich", "openmpi"], required=True)
    top.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build", "release"),
                     help="build of cosched: library and daemons (default: build/release)")
    top.add_argument("--variants", type=variants, default="plain,notice,notice+yield",
                     metavar="V,V,...", help="plain, or CARRIER[+WAIT] with "
                     f"{'|'.join(CARRIERS)} and {'|'.join(WAITS)} (default: %(default)s)")
    top.add_argument("--out", required=True, metavar="DIR", help="for runs.jsonl and report.md")
    top.add_argument("--resume", action="store_true", help="keep the runs that are in --out")
    top.add_argument("--lean", action="store_true",
                     help="run plain only what does not pass in all other variants")
    top.add_argument("--only-report", action="store_true", help="run nothing")
    top.add_argument("--dirs", type=lambda text: text.split(","), default=FOLDERS,
                     metavar="D,D,...", help="folders of the suite, e.g. pt2pt,f08/coll")
    top.add_argument("--list", metavar="FILE",
                     help="only these tests: FOLDER/PROGRAM, or a test's full name, one a line")
    top.add_argument("--max-ranks", type=int, default=4, metavar="N",
                     help="leave out tests of more ranks (default: %(default)s)")
    top.add_argument("--xfail", action="store_true", help="run what the suite expects to fail, too")
    top.add_argument("--timeout", type=float, default=20, metavar="S",
                     help="time limit of a test, if the suite has no lower one")
    top.add_argument("--grace", type=float, default=5, metavar="S",
                     help='end a program this long after its " No Errors"')
    top.add_argument("--repeat", type=int, default=3, metavar="N",
                     help="repetitions when variants differ (default: %(default)s)")
    top.add_argument("--nodes", type=int, default=2, metavar="N",
                     help="nodes, which share the machine's CPUs (default: %(default)s)")
    top.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                     help="a setting of the nodes' cosched.ini")
    top.add_argument("--mpi-arg", action="append", default=[], metavar="ARG",
                     help="a further argument for mpiexec")
    top.add_argument("--lab", default="cosched-lab-suite", metavar="NAME", help="name of the lab")
    return top


def _terminated(number, _frame):
    raise SystemExit(128 + number)


def main():
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, _terminated)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.makedirs(options.out, exist_ok=True)
    campaign = Campaign(options)
    try:
        if not options.only_report:
            campaign.run()
    finally:
        different = campaign.write_report()
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
