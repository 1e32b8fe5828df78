"""Standing jobs: started once, then told again and again to run one short exchange.

Each has a lab of its own, so it is alone on its cluster, and all of them wait without using a CPU
(bench/micro/exchanges.c): whoever asks one job at a time, in turn, compares them within milliseconds.
"""

import json
import os
import re
import select
import signal
import subprocess
import time

from guard import putting_away
from labkit import cgroups

BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
READY_S = 60
ANSWER_S = 60
END_S = 8  # of who was told to end, and has only MPI_Finalize left, where MPICH may hang
SHARES = 88761  # of a cgroup: what "nice -20", which exchanges.c asks for, is worth to a task
SHARES_MAX = 262144


class Failed(Exception):
    """A lab or a job did not do what it must; the text is for the user."""


def environment():
    """Ours without settings for the library: what is measured is what the variants say."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("COSCHED_") and name != "LD_PRELOAD"}


class Lab:
    """A lab of the given shape, to be used in a with statement."""

    def __init__(self, name, build, nodes, cpus_per_node):
        self.command = [os.path.join(BENCH, "lab"), "--name", f"cosched-lab-micro-{name}"]
        self.shape = ["--nodes", str(nodes), "--cpus-per-node", str(cpus_per_node),
                      "--build", build]
        self.owner = ["--owner", str(os.getpid())]  # whose lab it is; another session's is left alone

    def _run(self, *arguments):
        done = subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
                              start_new_session=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(self.command)} {arguments[0]} failed:\n{done.stdout.strip()}")
        return done.stdout

    def _come_first(self):
        """All jobs are in the lab's cgroups, which are to weigh what the jobs' processes weigh by themselves."""
        status = json.loads(self._run("status", "--json"))
        for node in status["nodes"]:
            for top in cgroups.places(cgroups.node_group(status["name"], node["name"])):
                shares = SHARES * len(node["cpus"])
                for file, weight in (("cpu.shares", min(shares, SHARES_MAX)), ("cpu.weight", min(shares * 100 // 1024, 10000))):
                    path = os.path.join(top, file)
                    if os.path.exists(path):
                        with open(path, "w", encoding="ascii") as control:
                            control.write(str(weight))

    def __enter__(self):
        try:
            self._run("up", *self.shape, *self.owner)
            self._come_first()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with putting_away():
            self._run("down", *self.owner)


class Job:
    """One job of bench/micro/exchanges.c. `folder` must exist, be empty, and be the same for all
    nodes; `options` are those of `lab mpiexec`, `prefix` is a command that starts the program."""

    def __init__(self, lab, folder, ranks, program, options=(), prefix=()):
        self.ranks = ranks
        self.folder = folder
        self.pending = b""
        self.descriptors = []
        self.answer = self._fifo("answer")
        self.commands = [self._fifo(f"command.{rank}") for rank in range(ranks)]
        self.output = os.path.join(folder, "output")
        # A session of its own: what the terminal interrupts is this program, which ends the job.
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                [*lab.command, "mpiexec", "--users", "-n", str(ranks), *options, *prefix, program, folder],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment(), start_new_session=True)
        self.ended = os.pidfd_open(self.process.pid)
        self.descriptors.append(self.ended)

    def _fifo(self, name):
        """Opened for both directions, so that neither side ever waits for the other to open it."""
        path = os.path.join(self.folder, name)
        os.mkfifo(path, 0o600)
        self.descriptors.append(os.open(path, os.O_RDWR))
        return self.descriptors[-1]

    def _trouble(self, what):
        return Failed(f"{what}; its output ends with:\n{self.text()[-2000:]}")

    def text(self):
        """What the job has printed."""
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _line(self, timeout_s):
        poll = select.poll()
        poll.register(self.answer, select.POLLIN)
        poll.register(self.ended, select.POLLIN)
        deadline_s = time.monotonic() + timeout_s
        while b"\n" not in self.pending:
            events = poll.poll(max(0, deadline_s - time.monotonic()) * 1000)
            if not events:
                raise self._trouble(f"a job said nothing for {timeout_s} s")
            if self.answer not in dict(events):
                raise self._trouble("a job ended too early")
            self.pending += os.read(self.answer, 4096)
        line, _, self.pending = self.pending.partition(b"\n")
        return line.decode()

    def ready(self):
        """Waits until all ranks are there. Returns the name of the file that MPI_Send comes from."""
        word, _, name = self._line(READY_S).partition(" ")
        if word != "ready":
            raise self._trouble("a job did not say that it is ready")
        return name

    def ask(self, pattern, size, repeats, ranks):
        """(seconds that it took, seconds for which a rank was kept from its CPU)."""
        line = f"{pattern} {size} {repeats} {ranks}\n".encode()
        for command in self.commands[:ranks]:
            os.write(command, line)
        seconds, lost_s = self._line(ANSWER_S).split()
        return float(seconds), float(lost_s)

    def tell_end(self, patient=True):
        """Asks the job to end, by its own program or, impatiently, by a signal. Does not wait."""
        if self.process.poll() is not None:
            return
        if not patient:
            self.process.send_signal(signal.SIGTERM)
            return
        for command in self.commands:
            os.write(command, b"quit\n")

    def end(self):
        """Waits until a job that was asked to end has ended, the hard way where the soft one does not
        do, and releases everything. Returns what it has printed."""
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []
        return self.text()


def carrier(lab, folder, program, ranks, options, prefix):
    """(carrier that such a job uses by its own statistics, or None; all that it printed)."""
    job = Job(lab, folder, ranks, program, options, [*(prefix or ["env"]), "COSCHED_STATS=1"])
    try:
        job.ready()
    finally:
        job.tell_end()
        text = job.end()
    found = re.search(r"^cosched: job .* carrier (\w+)", text, re.MULTILINE)
    return found[1] if found else None, text
