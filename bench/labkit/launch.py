"""Running an MPI job across the lab's nodes, to its end, whatever that is.

mpiexec runs inside node0 and reaches the others through the lab's agent, the stand-in for ssh. This
process is the subreaper of all that: no rank escapes, its CPU time is counted, and a job that does
not end is ended.
"""

import argparse
import json
import os
import re
import resource
import selectors
import shlex
import signal
import subprocess
import sys
import time

from . import LabError, cluster, processes

LIBRARY = "pmpi/libcosched_pmpi.so"
TERM_GRACE_S = 2.0
BURN_CHECK_S = 0.25


def spread(ranks, nodes):
    """Ranks per node, as even as can be, the first nodes taking the odd ones."""
    return [ranks // nodes + (index < ranks % nodes) for index in range(nodes)]


def mpich(store, lab, ranks, transport):
    hosts = [f"{node['name']}:{count}" for node, count in _placed(lab, ranks)]
    command = ["mpiexec.mpich", "-launcher", "rsh", "-launcher-exec", store.file("agent"),
               "-hosts", ",".join(hosts), "-n", str(ranks)]
    return command, {"UCX_TLS": "tcp,self" + ",sm" * (transport == "shm"),
                     "UCX_NET_DEVICES": "eth0"}


def openmpi(store, lab, ranks, transport):
    hosts = [f"{node['name']}:{count}" for node, count in _placed(lab, ranks)]
    # By the agent also within a job of Slurm's. (It is called rsh up to Open MPI 4, and ssh later.)
    parameters = {"plm": "^slurm", "plm_rsh_agent": store.file("agent"), "pml": "ob1",
                  "btl": "tcp,self" + ",vader" * (transport == "shm"),
                  "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
    command = ["mpiexec.openmpi", "--allow-run-as-root", "--bind-to", "none",
               "--host", ",".join(hosts), "-n", str(ranks)]
    for key, value in parameters.items():
        command += ["--mca", key, value]
    return command, {}


FAMILIES = {"mpich": mpich, "openmpi": openmpi}


def preloadable(library):
    """The path, for LD_PRELOAD. Raises LabError where the loader would take it for several: it goes on without them then,
    and a job without the library would be taken for one with it."""
    if re.search("[ :]", library):
        raise LabError(f"{library!r}: LD_PRELOAD cannot name this, as blanks and colons part names there: build elsewhere")
    return library


TRANSPORTS = ("tcp", "shm")  # between ranks of one node; nodes are always joined by TCP


def _placed(lab, ranks):
    counts = spread(ranks, len(lab["nodes"]))
    return [(node, count) for node, count in zip(lab["nodes"], counts) if count]


def chosen(lab, names):
    """The lab with only the nodes of these names, separated by commas; all of them without any."""
    wanted = names.split(",") if names else [node["name"] for node in lab["nodes"]]
    nodes = [node for node in lab["nodes"] if node["name"] in wanted]
    for name in wanted:
        if name not in (node["name"] for node in nodes):
            raise LabError(f"no node {name}: there are "
                           + ", ".join(node["name"] for node in lab["nodes"]))
    return {**lab, "nodes": nodes}


def command_line(store, lab, job):
    """The whole command, from outside, and the variables that it adds to the environment."""
    launcher, variables = FAMILIES[job.mpi](store, chosen(lab, job.on), job.ranks, job.transport)
    variables["TMPDIR"] = store.file("private", "tmp")
    variables["PATH"] = cluster.PATH
    variables[processes.MARKER] = f"{lab['name']}:{lab['id']}"
    if job.users:
        variables[cluster.AMONG_USERS] = "yes"
    if "COSCHED_RUNTIME_DIR" in os.environ:  # the caller's is not the node's
        variables["COSCHED_RUNTIME_DIR"] = cluster.RUNTIME_DIR
    preload = []
    if job.preload:
        library = os.path.join(lab["build"], LIBRARY)
        if not os.path.exists(library):
            raise LabError(f"{library} is not there: build first")
        preload = [f"LD_PRELOAD={preloadable(library)}"]  # for mpiexec, not for the tools that lead to it
    inside = ["env", "-C", os.getcwd(), *preload, *launcher, *job.mpi_arguments, job.program,
              *job.arguments]
    return cluster.enter(lab["nodes"][0]) + inside, {**variables, **job.environment}


class Run:
    """One mpiexec, watched."""

    def __init__(self, command, environment, done_pattern):
        self.pattern = done_pattern
        self.done_s = None  # when the pattern was last seen
        self.at_done = None  # CPU time of each process then
        self.worked_s = None  # CPU time of all descendants until then, of earlier runs too
        self.rest = b""
        self.start_s = time.monotonic()
        # stdin: mpiexec leads a new session, where reading a terminal would fail.
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, start_new_session=True,
            stdin=subprocess.DEVNULL if sys.stdin.isatty() else None,
            stdout=subprocess.PIPE if done_pattern else None)

    def _relay(self):
        """Passes output on, looking for the pattern. False at its end."""
        piece = os.read(self.process.stdout.fileno(), 65536)
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        *lines, self.rest = (self.rest + piece).split(b"\n")
        if any(self.pattern.search(line.decode(errors="replace")) for line in lines):
            self.done_s, self.at_done = time.monotonic(), None
        return bool(piece)

    def _burnt(self, grace_cpu_s):
        """True when the job has used up its grace in CPU time since the pattern was seen. CPU time is
        what tells a hang, which spins, from a job that waits for its turn."""
        if self.at_done is None:
            self.at_done = {who["pid"]: processes.cpu_s(who["pid"]) for who in processes.descendants()}
            self.worked_s = processes.below_cpu_s(os.getpid())
        return used_since_s(self.at_done) > grace_cpu_s

    def watch(self, deadline_s, grace_s, grace_cpu_s):
        """Until mpiexec ends: "ended"; or, after the pattern was seen, "hung"; or "timeout"."""
        ended = os.pidfd_open(self.process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ, "end")
            if self.pattern:
                selector.register(self.process.stdout, selectors.EVENT_READ, "output")
            try:
                while True:
                    # Who has done his work in time has not exceeded it, whatever his end takes.
                    limits = [(deadline_s, "timeout" if self.done_s is None else "hung")]
                    if self.done_s is not None:
                        limits.append((self.done_s + grace_s, "hung"))
                        limits.append((time.monotonic() + BURN_CHECK_S, "look"))
                    limit_s, verdict = min(limits)
                    events = selector.select(limit_s - time.monotonic())
                    what = {key.data for key, _ in events}
                    if "output" in what and not self._relay():
                        selector.unregister(self.process.stdout)
                    elif "end" in what:
                        return "ended"
                    elif not what and verdict == "look":
                        if self._burnt(grace_cpu_s):
                            return "hung"
                    elif not what:
                        return verdict
            finally:
                os.close(ended)

    def _is_all_gone(self):
        """Whether no child is left; then there is no descendant, as orphans become our children. Looking through
        all processes instead takes milliseconds, for which the next job of a queue would wait."""
        return self.process.poll() is not None and processes.reap()

    def finish(self):
        """Ends what is left of the job: daemonised helpers after a good end, everything after a bad
        one. Returns mpiexec's exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + TERM_GRACE_S
        gone = self._is_all_gone()
        while not gone and time.monotonic() < deadline and processes.descendants():
            time.sleep(0.005)
            gone = self._is_all_gone()
        if not gone:
            processes.end(processes.descendants(), 0)
        status = self.process.wait()
        processes.reap()
        if self.process.stdout:
            while self._relay():
                pass
            self.process.stdout.close()
        return status


def used_since_s(before):
    """CPU time that processes have used since it was {pid: before}. One that has left meanwhile counts as none, and takes
    nothing from what the others have used."""
    return sum(max(processes.cpu_s(pid) - before_s, 0) for pid, before_s in before.items())


def add_options(command):
    """The options of a command that runs a job, wherever: the job, and what watched() needs."""
    command.add_argument("--mpi", choices=list(FAMILIES), default="mpich")
    command.add_argument("-n", dest="ranks", type=int, required=True, metavar="N")
    command.add_argument("--preload", action="store_true",
                         help="LD_PRELOAD the build's libcosched_pmpi.so into mpiexec")
    command.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                         help="set a variable for mpiexec")
    command.add_argument("--mpi-arg", dest="mpi_arguments", action="append", default=[],
                         metavar="ARG", help="a further argument for mpiexec (--mpi-arg=-x ...)")
    command.add_argument("--timeout", dest="timeout_s", type=float, default=3600, metavar="S",
                         help="end the job after this long, with status 124")
    command.add_argument("--loop", type=int, default=1, metavar="N",
                         help="run it N times in succession, as one job")
    command.add_argument("--done-pattern", metavar="REGEX",
                         help="output line that says that the program's work is done")
    command.add_argument("--grace", dest="grace_s", type=float, default=10, metavar="S",
                         help="end a job that hangs this long after that line; its response time "
                              "then ends with the line")
    command.add_argument("--grace-cpu", dest="grace_cpu_s", type=float, default=2, metavar="S",
                         help="the same, when it has spun for this much CPU time since")
    command.add_argument("--gate", action="store_true",
                         help="start only when a line comes on standard input: what takes long to "
                              "load is loaded then")
    command.add_argument("--report", metavar="FILE", help="write times and status as JSON")
    command.add_argument("program")
    command.add_argument("arguments", nargs=argparse.REMAINDER)


def run(store, lab, job):
    """Runs the job across the lab's nodes; see watched()."""
    command, environment = command_line(store, lab, job)
    return watched(command, environment, job)


def wait_for_gate():
    """Waits for a line on standard input, which is then empty for the job. False when there will be
    none."""
    opened = bool(sys.stdin.readline())
    with open(os.devnull, "rb") as empty:
        os.dup2(empty.fileno(), sys.stdin.fileno())
    return opened


def compiled(pattern):
    try:
        return re.compile(pattern)
    except re.error as error:
        raise LabError(f"--done-pattern {pattern!r}: is no regular expression: {error}") from None


def watched(command, environment, job):
    """Runs the command, which starts the job, `job.loop` times in succession and returns a report.
    Raises KeyboardInterrupt through, after ending the job."""
    processes.become_subreaper()
    pattern = compiled(job.done_pattern) if job.done_pattern else None
    deadline_s = time.monotonic() + job.timeout_s
    report = {"mpi": job.mpi, "ranks": job.ranks, "command": shlex.join([job.program, *job.arguments]),
              "started": time.time(), "started_monotonic_s": time.monotonic(), "response_s": 0.0,
              "exit_status": 0, "timed_out": False, "hung_in_finalize": 0, "loop": job.loop,
              "seconds": []}
    burnt_s = 0.0
    for _ in range(job.loop):
        current = Run(command, environment, pattern)
        verdict = "interrupted"
        try:
            verdict = current.watch(deadline_s, job.grace_s, job.grace_cpu_s)
            end_s = current.done_s if verdict == "hung" else time.monotonic()
        finally:
            status = current.finish()
        if verdict == "hung":
            report["hung_in_finalize"] += 1
            burnt_s += 0 if current.worked_s is None else max(used_s() - current.worked_s, 0)
            status = 0
        report["seconds"].append(end_s - current.start_s)
        report["response_s"] += end_s - current.start_s
        report["timed_out"] |= verdict == "timeout"
        report["exit_status"] = 124 if verdict == "timeout" else abs(status)
        if report["exit_status"] != 0:
            break
    report["cpu_s"] = used_s() - burnt_s
    return report


def used_s():
    """CPU time of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_report(report, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
