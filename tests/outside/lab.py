"""The virtual cluster in which programs of others run, and what they run with."""

import argparse
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LAB = os.path.join(ROOT, "bench", "lab")
PLAIN = "plain"
CARRIERS = ("default", "off", "notice", "header")
WAITS = ("spin", "yield", "block")
LAUNCH_S = 30  # for what lab does before and after the run itself


class Variant:
    """`plain`, or CARRIER[+WAIT] for a run with the library."""

    def __init__(self, text):
        self.name = text
        self.preload = text != PLAIN
        self.variables = []
        if not self.preload:
            return
        carrier, _, wait = text.partition("+")
        if carrier not in CARRIERS or (wait and wait not in WAITS):
            raise argparse.ArgumentTypeError(
                f"{text} is neither {PLAIN} nor CARRIER[+WAIT] with one of {', '.join(CARRIERS)} "
                f"and one of {', '.join(WAITS)}")
        if carrier != "default":
            self.variables.append(f"COSCHED_PIGGYBACK={carrier}")
        if wait:
            self.variables.append(f"COSCHED_WAIT={wait}")


def variants(text):
    return [Variant(word) for word in text.split(",")]


class Lab:
    """The virtual cluster of a campaign."""

    def __init__(self, options):
        self.options = options
        self.command = [LAB, "--name", options.lab]

    def __enter__(self):
        cpus = max(1, os.cpu_count() // self.options.nodes)
        settings = [f"--set={setting}" for setting in self.options.set]
        subprocess.run([*self.command, "up", "--nodes", str(self.options.nodes), "--cpus-per-node",
                        str(cpus), "--build", self.options.build, "--owner", str(os.getpid()),
                        *settings], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([*self.command, "down"], check=False)

    def run(self, variant, ranks, program, arguments, *, folder=None, variables=(), mpiexec=(), limit_s, done=None):
        """(output of all ranks, lab's report) of a run in `folder`, by default the program's; `done` is the pattern of a
        line after which there is nothing more to come."""
        command = [*self.command, "mpiexec", "--mpi", self.options.mpi, "-n", str(ranks),
                   "--timeout", str(limit_s)]
        command += ["--preload"] if variant.preload else []
        command += [f"--env={pair}" for pair in [*variables, *variant.variables]]
        command += [f"--mpi-arg={word}" for word in [*self.options.mpi_arg, *mpiexec]]
        if done:
            command += ["--done-pattern", done, "--grace", str(self.options.grace),
                        "--grace-cpu", str(self.options.grace * ranks)]
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            finished = subprocess.run(
                [*command, "--report", file.name, program, *arguments], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder or os.path.dirname(program),
                timeout=limit_s + LAUNCH_S, check=False)
            output = finished.stdout.decode(errors="replace")
            text = file.read()
        if not text:
            raise SystemExit(f"lab mpiexec failed: {output}")
        return output, json.loads(text)
