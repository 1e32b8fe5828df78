#!/usr/bin/env python3
"""Runs the conformance programs without the library and with it, and compares. See README.md."""

import argparse
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCES = os.path.dirname(os.path.realpath(__file__))
LAB = os.path.realpath(os.path.join(SOURCES, "..", "..", "bench", "lab"))
LIBRARY = "pmpi/libcosched_pmpi.so"
FAMILIES = ("mpich", "openmpi")
WARNINGS = ["-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
FLAGS = {
    "mpicc": ["-std=c17", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", *WARNINGS],
    "mpicxx": ["-std=c++17", "-O1", "-g", *WARNINGS, "-Wno-cast-function-type"],
    "mpif90": ["-O1", "-g", "-w", "-fallow-argument-mismatch"],
}
# Of Open MPI: ranks that wait leave the CPU to those that work, and may be more than the CPUs.
OPENMPI = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1",
           "--mca", "odls_base_sigkill_timeout", "0"]  # else each job that is killed takes seconds
SKIPPED = 77
RESTARTS_MAX = 40  # of a program that dies in one case after another
HANGS_MAX = 3  # MPICH hangs in MPI_Finalize at times, without help; who does so that often in a row has another reason
SHOWN_MAX = 25  # differences of one run
# What differs must differ from so many runs without the library: how mpiexec ends when a program never
# calls MPI_Finalize, say, is chance.
PLAIN_RUNS_MAX = 6
# Jobs that programs connect to are others, beside which they take turns.
SHORT_TURNS = ["--set=scheduler.time_slice=500ms", "--set=scheduler.gmet=100ms"]
DONE = r"^end: "
DIED = "the program died"
ENDS_LINE = re.compile(r"ends: rank [0-9]+ [A-Za-z_ ]+?(?=ends?:|$)", re.MULTILINE)
STATISTICS = re.compile(r"cosched: (job|mpiexec) ")  # what COSCHED_STATS=1 asks for
UNKNOWN_FUNCTIONS = "does not know all functions of this MPI"
CASE_LINE = re.compile(r"(ok|FAILED|skipped) ([^ :]+)")
# Of `ends killed` under MPICH: that of the rank that was killed, or of the one that then misses it, by which of
# them Hydra hears of first. With the library, whatever it does, the former in one run of ten; without it seldom.
RACING = {("mpich", "killed"): (9, 255)}
# Words that may differ between a run without the library and one with it: where the library mends an
# MPI's own fault.
BETTER = {("changed", "kept"), ("wrong", "null"), ("wrong", "any"), ("left", "taken")}
FRAME = ["main.c", "conform.c"]


class Program:
    """kind: "table" programs know --list, --only and --after; "text" ones just print their lines;
    "ends" ones are run once per mode, to see how they end."""

    def __init__(self, name, ranks=2, kind="table", sources=None, compiler="mpicc", flags=(), modes=(),
                 waits=("", "yield", "block")):
        self.name = name
        self.ranks = ranks
        self.kind = kind
        self.sources = sources or [name + ".c", "conform.c"]
        self.compiler = compiler
        self.flags = list(flags)
        self.modes = list(modes)
        self.waits = waits

    def topics(self):
        """What its cases' names begin with."""
        return [os.path.splitext(name)[0] for name in self.sources if name not in FRAME]


# Most topics are one program for each number of ranks: to start one takes longer than to run it.
TWO_RANKS = ("basic", "status", "types", "truncation", "probe", "requests", "callbacks", "persistent", "bsend", "errors", "rma",
             "large", "mpi4")
FOUR_RANKS = ("comms", "inter", "topologies", "wildcards", "collectives")

PROGRAMS = [
    Program("two_ranks", sources=[topic + ".c" for topic in TWO_RANKS] + FRAME),
    Program("four_ranks", ranks=4, sources=[topic + ".c" for topic in FOUR_RANKS] + FRAME),
    Program("basic_pmpi", sources=["basic.c", *FRAME], flags=["-include", "pmpi_names.h"], waits=[""]),
    *[Program(f"sums_of_{ranks}", ranks=ranks, kind="text", sources=["sums.c"]) for ranks in (3, 4)],
    Program("threads"),
    Program("dynamic"),
    Program("dynamic_auto", ranks=3, sources=["dynamic.c", "conform.c"], waits=["auto"]),
    Program("sessions", kind="text", sources=["sessions.c"]),
    Program("cpp", sources=["cpp.cpp", "conform.c"], compiler="mpicxx"),
    *[Program(name, kind="text", sources=["fortran.F90"], compiler="mpif90",
              flags=[f"-DBINDING={binding}"])
      for binding, name in enumerate(["fortran_mpifh", "fortran_usempi", "fortran_f08"], 1)],
    Program("python", kind="text", sources=["python.py"], compiler=None),
    Program("ends", kind="ends", sources=["ends.c"],
            modes=["open", "served", "forked", "unreceived", "no_finalize", "abort", "killed", "fatal_error"],
            waits=["", "yield"]),
]


# Run with +block also when nobody asks for it: every way in which a call waits.
BLOCKING = {"two_ranks", "four_ranks", "sums_of_4", "threads"}
# What these test, bindings and values, depends on no carrier and way to wait together: unless somebody asks for more, each
# carrier has one way in the lab.
PAIRED = {"sums_of_3", "sums_of_4", "sessions", "cpp", "fortran_mpifh", "fortran_usempi", "fortran_f08", "python", "ends"}
NOT_PAIRED = {"notice+yield", "header"}


class Variant:
    """What a program is run with, as named on the command line: plain, or a carrier, and +yield, +block or +auto."""

    def __init__(self, name):
        carrier, _, wait = name.partition("+")
        if carrier not in ("plain", "off", "notice", "header") or wait not in ("", "yield", "block", "auto"):
            raise argparse.ArgumentTypeError(f"{name} is not plain, off, notice or header, "
                                             "+yield, +block or +auto")
        self.name = name
        self.carrier = carrier
        self.wait = wait
        self.preload = carrier != "plain"
        self.environment = {}
        if self.preload:
            self.environment["COSCHED_PIGGYBACK"] = carrier
            if wait != "auto":
                self.environment["COSCHED_WAIT"] = wait or "spin"


def library_says(where, variant):
    """What a line that COSCHED_STATS=1 gives must have in it."""
    carrier = variant.carrier if where == "lab" else "off"  # one node: nobody to carry anything to
    # By default ranks that share a CPU yield, and so they do in Node.
    return f"carrier {carrier} wait {variant.environment.get('COSCHED_WAIT', 'yield')}:"


# --- Running one command -------------------------------------------------------------------------


class Outcome:
    def __init__(self, status, stdout, stderr, timed_out, hung):
        self.status = status
        self.lines = stdout.splitlines()
        self.stderr = stderr
        self.timed_out = timed_out
        self.hung = hung  # in MPI_Finalize, its work done


def windows_over_tcp():
    """What Open MPI needs to have them: up to version 4 a component that later ones have no more."""
    try:
        said = subprocess.run(["mpiexec.openmpi", "--version"], capture_output=True, text=True, check=True).stdout
    except OSError:
        return []
    return ["--mca", "osc", "pt2pt"] if re.search(r"\) [1-4]\.", said) else []


class Lab:
    """Ranks on two nodes, over TCP."""

    name = "lab"

    def __init__(self, options, folder):
        self.lab = [LAB, "--name", options.lab_name]
        self.report = os.path.join(folder, options.lab_name + ".json")
        self.windows = windows_over_tcp()
        subprocess.run([*self.lab, "up", "--build", options.build, "--owner", str(os.getpid()), *SHORT_TURNS],
                       check=True)

    def close(self):
        subprocess.run([*self.lab, "down"], check=True)

    def run(self, family, variant, ranks, command, limit_s, **environment):
        words = [*self.lab, "mpiexec", "--mpi", family, "-n", str(ranks), "--timeout", str(limit_s),
                 "--done-pattern", DONE, "--grace", "5", "--grace-cpu", "2.5", "--report", self.report]
        if family == "openmpi":
            words += [f"--mpi-arg={word}" for word in OPENMPI + self.windows]
        for name, value in {**variant.environment, **environment}.items():
            words += ["--env", f"{name}={value}"]
        if variant.preload:
            words.append("--preload")
        if os.path.exists(self.report):
            os.unlink(self.report)
        done = run_bounded([*words, *command], os.environ, limit_s + 30)
        try:
            with open(self.report, encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError):
            raise SystemExit(f"run.py: the lab gave no report:\n{done.stdout}{done.stderr}") from None
        return Outcome(report["exit_status"], done.stdout, done.stderr, report["timed_out"],
                       report["hung_in_finalize"] > 0)


class Node:
    """All ranks on this machine, as its mpiexec does it, over shared memory."""

    name = "node"

    def __init__(self, options, _folder):
        self.preloaded = os.path.join(options.build, LIBRARY)

    def close(self):
        pass

    def run(self, family, variant, ranks, command, limit_s, **environment):
        words = ["mpiexec." + family, "-n", str(ranks)]
        shared = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if variant.wait == "auto" else []
        variables = {**os.environ, **variant.environment, **environment,
                     "COSCHED_RUNTIME_DIR": "/nonexistent"}
        if family == "openmpi":
            words[1:1] = ["--allow-run-as-root", "--bind-to", "none", *OPENMPI] if shared \
                else ["--allow-run-as-root", *OPENMPI]
        if variant.preload:
            variables["LD_PRELOAD"] = self.preloaded
        done = run_bounded([*shared, *words, *command], variables, limit_s)
        hung = done.timed_out and re.search(DONE, done.stdout, re.MULTILINE) is not None
        return Outcome(0 if hung else done.returncode, done.stdout, done.stderr,
                       done.timed_out and not hung, hung)


Bounded = collections.namedtuple("Bounded", "returncode stdout stderr timed_out")


def run_bounded(command, environment, limit_s):
    """Runs a command; whatever of its session is left after limit_s is killed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, start_new_session=True)
        timed_out = False
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Bounded(process.returncode, *texts, timed_out)


# --- Running one program -------------------------------------------------------------------------


class Result:
    """Of one program in one variant: its cases' lines by name, in order."""

    def __init__(self):
        self.lines = {}
        self.status = None
        self.hung = 0
        self.hung_in_a_row = 0
        self.complaints = []  # of the library, on stderr
        self.answers = []  # what it said when asked, by run
        self.details = []
        self.seconds = 0.0

    def failed(self):
        return {name for name, line in self.lines.items() if line.startswith("FAILED")}


class Suite:
    """asking: the first program's runs, and those with +auto, also ask the library whether it runs the variant."""

    def __init__(self, build, folder, case_limit_s, asking):
        self.build = build
        self.asking = asking
        self.folder = folder
        self.limit_s = case_limit_s

    def path(self, family, program):
        if program.compiler is None:
            return os.path.join(SOURCES, program.sources[0])
        return os.path.join(self.folder, family, program.name)

    def compile(self, family, program):
        target = self.path(family, program)
        if program.compiler is None:
            return
        sources = [os.path.join(SOURCES, name) for name in program.sources]
        headers = [os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith(".h")]
        if os.path.exists(target) and all(os.path.getmtime(file) < os.path.getmtime(target)
                                          for file in sources + headers):
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        rest = [*program.flags, "-I", SOURCES, "-o", target]
        folder = os.path.dirname(target)  # where gfortran leaves its .mod files
        if program.compiler == "mpicxx":  # conform.c is C, whoever links it
            compile_file([f"mpicc.{family}", *FLAGS["mpicc"], "-c", "-o", target + ".o", sources.pop()],
                         folder)
            sources.append(target + ".o")
        compile_file([f"{program.compiler}.{family}", *FLAGS[program.compiler], *rest, *sources],
                     folder)

    def cases_of(self, family, program):
        done = subprocess.run([self.path(family, program), "--list"], capture_output=True, text=True,
                              check=True)
        return done.stdout.split()

    def run(self, place, family, variant, program, only):
        result = Result()
        start = time.monotonic()
        if program.kind == "table":
            self._run_table(result, place, family, variant, program, only)
        elif program.kind == "text":
            self._run_text(result, place, family, variant, program)
        else:
            self._run_ends(result, place, family, variant, program, only)
        result.seconds = time.monotonic() - start
        return result

    def _launch(self, result, place, family, variant, program, arguments):
        command = [self.path(family, program), *arguments]
        if program.compiler is None:
            command.insert(0, python_of(family))
        asks = self.asking and variant.preload and (program is PROGRAMS[0] or variant.wait == "auto")
        asked = {"COSCHED_STATS": "1"} if asks else {}
        done = place.run(family, variant, program.ranks, command, self.limit_s, **asked)
        said = [line for line in done.stderr.splitlines() if line.startswith("cosched:")]
        if asked:
            said = [line for line in said if not STATISTICS.match(line)]
            result.answers.append(done.stderr)
        result.complaints += said
        result.details += [line for line in done.stderr.splitlines() if line.startswith("conform:")]
        result.hung += done.hung
        result.hung_in_a_row = result.hung_in_a_row + 1 if done.hung else 0
        result.status = done.status
        return done

    def _run_table(self, result, place, family, variant, program, only):
        wanted = [name for name in self.cases_of(family, program)
                  if only is None or name == only or name.startswith((only + "/", only + "."))]
        arguments = ["--only", only] if only else []
        for _ in range(RESTARTS_MAX):
            done = self._launch(result, place, family, variant, program, arguments)
            collect(result, done.lines)
            if variant.preload and done.hung and result.hung_in_a_row < HANGS_MAX:  # it must end in another way, too
                continue
            missing = [name for name in wanted if name not in result.lines]
            if any(re.match(DONE, line) for line in done.lines) or not missing:
                break
            how = "it hung" if done.timed_out else f"exit status {done.status}"
            result.lines[missing[0]] = f"FAILED {missing[0]} {DIED} there: {how}"
            result.details += died(done)
            arguments = ["--after", missing[0]]
            if only:
                break
        for name in wanted:
            result.lines.setdefault(name, f"FAILED {name} not run: {DIED} too often")

    def _run_text(self, result, place, family, variant, program):
        for _ in range(HANGS_MAX):
            done = self._launch(result, place, family, variant, program, [])
            collect(result, done.lines)
            if not done.hung or not variant.preload:
                break
        if not any(re.match(DONE, line) for line in done.lines):
            result.lines["end"] = f"FAILED end {DIED}: exit status {done.status}"
            result.details += died(done)

    def _run_ends(self, result, place, family, variant, program, only):
        """One line per mode: exit status and what the program itself printed."""
        for mode in program.modes:
            if only not in (None, mode):
                continue
            for _ in range(HANGS_MAX):
                done = self._launch(result, place, family, variant, program, [mode])
                if not (done.hung or done.timed_out):
                    break
            # Launchers mix up the ends of ranks' lines, so each is looked for anywhere.
            said = sorted(line.strip() for line in ENDS_LINE.findall("\n".join(done.lines)))
            hung = done.hung or done.timed_out
            word = "FAILED" if hung else "ok"
            status = "hung" if hung else "status " + " or ".join(map(str, one_of(family, mode, done.status)))
            result.lines[mode] = " | ".join([f"{word} {mode} {status}", *said])
            result.status = 0


def one_of(family, mode, status):
    """The statuses that mean the same as this one."""
    racing = RACING.get((family, mode), ())
    return racing if status in racing else (status,)


def died(done):
    return [line for line in done.stderr.splitlines() if line.strip()][:12]


def collect(result, lines):
    for line in lines:
        match = CASE_LINE.match(line)
        if match:
            result.lines[match[2]] = line


def compile_file(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        raise SystemExit(f"run.py: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")


# --- Comparing -----------------------------------------------------------------------------------


def same(plain, line):
    if plain == line:
        return True
    if plain is None or line is None:
        return False
    if plain.startswith("FAILED"):  # a fault of the MPI itself, which may show in other ways
        return DIED in plain or DIED not in line
    before, after = plain.translate(PLAIN_WORDS).split(), line.translate(PLAIN_WORDS).split()
    return len(before) == len(after) and all(
        one == other or (one, other) in BETTER for one, other in zip(before, after))


PLAIN_WORDS = str.maketrans("[]:", "   ")


def differences(plains, result):
    """(names of cases with a line that no run without the library had, whether its exit status is of none)."""
    names = list(dict.fromkeys([name for one in [*plains, result] for name in one.lines]))
    differing = [name for name in names
                 if not any(same(plain.lines.get(name), result.lines.get(name)) for plain in plains)]
    hung = result.hung or any(plain.hung for plain in plains)
    return differing, not hung and all(plain.status != result.status for plain in plains)


def hangs(family, plains, result):
    """Whether it hangs in MPI_Finalize as no MPI does by itself."""
    if any(plain.hung for plain in plains):
        return False
    return result.hung_in_a_row >= HANGS_MAX or (family == "openmpi" and result.hung > 0)


class Table:
    """The summary: a row per program, MPI, place and variant."""

    def __init__(self):
        self.rows = []
        self.bad = 0

    def add(self, program, family, place, variant, plains, result):
        plain = plains[0]
        failed = result.failed()
        own = failed & set().union(*(one.failed() for one in plains))
        differing, status_differs = differences(plains, result)
        if result is not plain:
            hanging = hangs(family, plains, result)
            self.bad += len(differing) + len(failed - own) + status_differs + len(result.complaints) + hanging
        self.rows.append([program.name, family, place, variant.name, len(result.lines),
                          len(failed - own) if result is not plain else 0,
                          len(own), len(differing) + status_differs, result.hung,
                          f"{result.seconds:.1f}"])
        what = f"{program.name}, {family}, {place}, {variant.name}"
        if result is plain:
            for name in sorted(failed):
                say(f"  {what}: fault of the MPI itself: {result.lines[name]}")
            return
        for name in differing[:SHOWN_MAX]:
            say(f"  {what}: DIFFERENT", f"    without: {plain.lines.get(name)}",
                f"    with:    {result.lines.get(name)}")
        if len(differing) > SHOWN_MAX:
            say(f"  {what}: and {len(differing) - SHOWN_MAX} more")
        if status_differs:
            say(f"  {what}: DIFFERENT exit status {result.status}, {plain.status} without")
        if hanging:
            say(f"  {what}: HUNG in MPI_Finalize {result.hung} times, never without")
        for line in result.complaints[:5]:
            say(f"  {what}: COMPLAINT {line}")
        if differing or status_differs:
            say(*(f"    {line}" for line in result.details[:20]))

    def print(self):
        heads = ["program", "MPI", "where", "carrier", "cases", "failed", "MPI's own", "different",
                 "hung in end", "seconds"]
        rows = [heads, *[[str(cell) for cell in row] for row in self.rows]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
        for row in rows:
            say("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def say(*lines):
    for line in lines:
        print(line, flush=True)


def supported(options, suite, place, family, variant):
    """Whether the library runs this variant as asked; a carrier that was asked for and that it does not
    know, as older ones, is skipped."""
    probe = PROGRAMS[0]
    suite.compile(family, probe)
    done = place.run(family, variant, probe.ranks, [suite.path(family, probe), "--only", "basic.blocking/8"],
                     60, COSCHED_STATS="1")
    if options.carrier and f"COSCHED_PIGGYBACK={variant.carrier} is not one of" in done.stderr:
        say(f"skipped: {family}, {place.name}, {variant.name}: the library has no carrier "
            f"{variant.carrier}")
        return False
    return runs_it(place, family, variant, done.stderr)


def answered(place, family, variant, result):
    """As supported(), of what a whole program was asked. One that hung may not have come to its answer."""
    said = "".join(result.answers)
    return result.hung or runs_it(place, family, variant, said)


def runs_it(place, family, variant, said):
    """Whether the library can run this variant with this MPI; that it should and does not is an error."""
    if UNKNOWN_FUNCTIONS in said:
        say(f"skipped: {family}, {place.name}, {variant.name}: none with an MPI-4.1")
        return False
    if library_says(place.name, variant) not in said:
        raise SystemExit(f"run.py: {family}, {place.name}, {variant.name}: the library should say "
                         f"\"{library_says(place.name, variant)}\", but:\n{said}")
    return True


def chosen(only):
    """(programs, what of their cases to run or None) by PROGRAM or TOPIC, each also with :CASE."""
    if only is None:
        return PROGRAMS, None
    name, _, case = only.partition(":")
    for program in PROGRAMS:
        topics = program.topics()
        if name == program.name and (not case or program.kind != "table" or len(topics) > 1):
            return [program], case or None
        if name == program.name or name in topics:
            topic = name if name in topics else topics[0]
            return [program], f"{topic}.{case}" if case else topic
    raise SystemExit(f"run.py: no program or topic {name}: "
                     + " ".join([*TWO_RANKS, *FOUR_RANKS] + [program.name for program in PROGRAMS]))


def run_all(options, suite, table):
    programs, only_case = chosen(options.only)
    for make_place in (Lab, Node):
        if make_place.name not in options.where:
            continue
        place = make_place(options, suite.folder)
        try:
            for family in options.mpi:
                run_family(options, suite, table, place, family, programs, only_case)
        finally:
            place.close()


def run_family(options, suite, table, place, family, programs, only_case):
    chosen = options.carrier or default_variants(place.name)
    variants = [variant for variant in chosen
                if variant.preload and (suite.asking or supported(options, suite, place, family, variant))]
    for program in programs:
        if program.compiler is None and python_of(family) is None:
            say(f"skipped: {program.name}, {family}: python3-mpi4py for this MPI is not installed")
            continue
        fitting = [variant for variant in variants if variant.wait in program.waits
                   and (options.carrier or is_default(program, place.name, variant))]
        if variants and not fitting:
            continue
        suite.compile(family, program)
        base = Variant("plain")
        plains = [suite.run(place, family, base, program, only_case)]
        table.add(program, family, place.name, base, plains, plains[0])
        for variant in fitting:
            result = suite.run(place, family, variant, program, only_case)
            if result.answers and not answered(place, family, variant, result):
                variants.remove(variant)
                continue
            while any(differences(plains, result)) and len(plains) < PLAIN_RUNS_MAX:
                plains.append(suite.run(place, family, base, program, only_case))
            table.add(program, family, place.name, variant, plains, result)


def is_default(program, place, variant):
    """Whether it is run so when nobody says with what."""
    if variant.wait == "block":
        return program.name in BLOCKING
    return place != "lab" or program.name not in PAIRED or variant.name not in NOT_PAIRED


def default_variants(place):
    names = {"lab": ["notice", "notice+yield", "header", "header+yield"],
             "node": ["notice+yield", "notice+block", "notice+auto"]}
    return [Variant(name) for name in names[place]]


def python_of(family):
    """A Python whose mpi4py is made for this MPI, or None."""
    ask = ("import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
           "print(MPI.Get_library_version())")
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if done.returncode == 0 and ("Open MPI" in done.stdout) == (family == "openmpi"):
            return python
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, metavar="DIR", help="build directory of the library")
    parser.add_argument("--mpi", action="append", choices=FAMILIES)
    parser.add_argument("--carrier", action="append", type=Variant, metavar="CARRIER",
                        help="off, notice or header, each also with +yield, +block or +auto (plain is always run)")
    parser.add_argument("--where", action="append", choices=["lab", "node"])
    parser.add_argument("--only", metavar="TOPIC[:CASE]")
    parser.add_argument("--compile", action="store_true", help="the programs, and run nothing")
    parser.add_argument("--lab-name", default="cosched-lab-conformance", metavar="NAME",
                        help="of the lab that is brought up; must not be in use")
    parser.add_argument("--time-limit", type=float, default=400, metavar="S", help="of each run")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.where = options.where or ["lab", "node"]
    options.mpi = options.mpi or [family for family in FAMILIES if shutil.which("mpiexec." + family)]
    if not os.path.exists(os.path.join(options.build, LIBRARY)):
        sys.exit(f"run.py: {options.build}/{LIBRARY} is not there: build first")
    folder = os.path.join(options.build, "conformance")
    os.makedirs(folder, exist_ok=True)
    suite = Suite(options.build, folder, options.time_limit, asking=not (options.only or options.carrier))
    if options.compile:
        for family in options.mpi:
            for program in chosen(options.only)[0]:
                suite.compile(family, program)
        return
    if "lab" in options.where and os.geteuid() != 0:
        print("skipped: the lab needs root, for namespaces and cgroups")
        sys.exit(SKIPPED)
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    table = Table()
    start = time.monotonic()
    try:
        run_all(options, suite, table)
    finally:
        table.print()
    say(f"{len(table.rows)} runs in {time.monotonic() - start:.0f} s, "
        + (f"{table.bad} things to look at" if table.bad else "nothing differs"))
    sys.exit(1 if table.bad else 0)


if __name__ == "__main__":
    main()
