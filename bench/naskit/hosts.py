"""A real cluster whose nodes run cosched already, reached over ssh: where jobs run with --hosts.

Nothing is started, changed or stopped there but the jobs. Programs must be at the same path on every
host.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys
import time

from . import NasError, environment, noise, output

SSH = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
BENCH = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.@-]*)(?::([1-9][0-9]*))?")
ASK_S = 30
TRACE_EVENTS = 1 << 19
# Kernel, number of CPUs, and what they are.
LOOK = "uname -r; nproc; sed -n '/^model name/{s/[^:]*: *//p;q}' /proc/cpuinfo"
SETTINGS = "PATH=$PATH:/usr/local/sbin:/usr/sbin classd --print-config"


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    cpus: int = None  # as many as are asked for, or 1


def parse(text, path):
    """HOST or HOST:CPUS per line, "#" begins a comment."""
    found = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].strip()
        if not line:
            continue
        match = LINE.fullmatch(line)
        if not match:
            raise NasError(f"{path}:{number}: {line!r}: must be HOST or HOST:CPUS")
        if match[1] in [host.name for host in found]:
            raise NasError(f"{path}:{number}: {match[1]} is here twice")
        found.append(Host(match[1], int(match[2]) if match[2] else None))
    if not found:
        raise NasError(f"{path}: names no host")
    return found


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), path)
    except OSError as error:
        raise NasError(f"--hosts {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NasError(f"--hosts {path}: is not UTF-8: must be text, HOST or HOST:CPUS per line") from None


def take(hosts, nodes, cpus_per_node, path):
    """(hosts, CPUs of each): the first `nodes`, which must be alike, as degrees are reckoned so."""
    if nodes and nodes > len(hosts):
        raise NasError(f"--nodes {nodes}: {path} has {len(hosts)} hosts")
    chosen = hosts[:nodes or len(hosts)]
    for host in chosen:
        if cpus_per_node and host.cpus and host.cpus < cpus_per_node:
            raise NasError(f"--cpus-per-node {cpus_per_node}: {path} says that {host.name} has {host.cpus}")
    sizes = {host.cpus or 1 for host in chosen}
    if not cpus_per_node and len(sizes) > 1:
        raise NasError(f"{path}: hosts with {min(sizes)} and {max(sizes)} CPUs: say --cpus-per-node "
                       "to use as many of each")
    return [host.name for host in chosen], cpus_per_node or sizes.pop()


def gated(command):
    """A shell's command that waits for a line first; there is none when whoever would write it has ended."""
    return f"read -r line && {command}"


def _parsed(text):
    """What a program said in JSON, or None."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


class HostSite:
    """Hosts whose daemons are somebody else's."""

    counts_cpu = False
    kept_mib = 0

    def __init__(self, options, names):
        self.options = options
        self.nodes = names
        self.scheduling = False
        self.has_library = False
        self.records = False
        self.slice_s = None  # the longest of the hosts, when they were last asked

    def _ssh(self, host, *command, limit_s=ASK_S):
        """What the command printed, or None when it failed."""
        try:
            done = subprocess.run([*SSH, host, *command], text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit_s,
                                  start_new_session=True, check=False)
        except FileNotFoundError:
            raise NasError("--hosts: ssh is not installed") from None
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def check(self):
        """Any user may."""

    def check_settings(self, *_):
        """Theirs are their own."""

    def up(self):
        for host in self.nodes:
            if self._ssh(host, "true") is None:
                raise NasError(f"host {host}: cannot be reached by `ssh {host} true` without a password")
            self._check_cpus(host, self._ssh(host, "nproc"), "it has")
        if self.options.noise and self.calibrate() is None:
            print("run_nas: not every host can calibrate (python3 is missing there, or slow): disturbed runs are not "
                  "noticed", file=sys.stderr)

    def _check_cpus(self, host, there, what, remedy=""):
        """Degrees are reckoned by as many CPUs as were asked for."""
        wanted = self.options.cpus_per_node
        if there is None:
            return
        try:
            count = int(there)
        except ValueError:
            said = (there.strip() or "nothing").splitlines()[0]
            raise NasError(f"host {host}: its login says {said!r} and not how many CPUs it has: have its shell print nothing of "
                           "its own where it is not interactive") from None
        if count != wanted if remedy else count < wanted:
            raise NasError(f"host {host}: {what} {count} CPUs, and {wanted} are to be used{remedy}")

    def described(self):
        """The hosts, and what their classd is told by its file; null, or empty, where one does not say."""
        return {"nodes": [self._describe(host) for host in self.nodes]}

    def _describe(self, host):
        kernel, cpus, model = [*(self._ssh(host, LOOK) or "").splitlines(), "", "", ""][:3]
        return {"name": host.rpartition("@")[2], "kernel": kernel or None, "cpus": int(cpus) if cpus.isdigit() else None,
                "cpu": model or None, "classd": environment.settings(self._ssh(host, SETTINGS))}

    def down(self):
        """Ends the recording of a run that was broken off."""
        if self.records:
            self._trace_stop()

    def calibrate(self):
        """On every host at once, one CPU for each that is used; None where a host has no Python, or takes too long."""
        cpus = range(self.options.cpus_per_node)
        asked = [subprocess.Popen([*SSH, host, "python3", "-I", "-S", "-", str(cpu)], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
                 for host in self.nodes for cpu in cpus]
        for process in asked:  # each begins when it has its program
            self._tell(process, noise.KERNEL)
        deadline_s = time.monotonic() + ASK_S
        said = [self._answer(process, deadline_s) for process in asked]
        return noise.slowest(said) if all(text.strip() for text in said) else None

    def pace(self):
        """Nobody looks at hosts while jobs run there."""

    @staticmethod
    def _tell(process, text):
        try:
            process.stdin.write(text)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended, and answers nothing
        process.stdin = None

    @staticmethod
    def _answer(process, deadline_s):
        try:
            return process.communicate(timeout=max(0.1, deadline_s - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return ""

    def prepare(self, scheduler, unit):
        self.scheduling = scheduler.cosched
        if scheduler.cosched or unit.yields:
            self._check_library()
        if not scheduler.cosched and not scheduler.script:
            return
        said = [_parsed(self._ssh(host, "coschedctl", "--json", "status")) for host in self.nodes]
        for host, status in zip(self.nodes, said) if scheduler.cosched else ():
            if status is None:
                raise NasError(f"host {host}: `coschedctl status` fails there: is classd running?")
            self._check_cpus(host, status.get("cpus"), "classd there shares",
                             ": set [scheduler] cpus there, or say HOST:CPUS")
        self.slice_s = max((status["time_slice_s"] for status in said if status and "time_slice_s" in status), default=None)

    def time_slice_s(self, unit):
        """Theirs, since they keep it; the unit's where no host tells its own."""
        return self.slice_s or unit.time_slice_s

    def _check_library(self):
        """A job that the loader cannot give the library runs all the same, and would be told as coscheduled."""
        for host in self.nodes if not self.has_library else ():
            if self._ssh(host, "test", "-r", self.options.preloaded) is None:
                raise NasError(f"host {host}: has no library {self.options.preloaded} that can be read: install cosched there, or name "
                               "its libcosched_pmpi.so with --library")
        self.has_library = True

    def job_command(self, job, mpi, program, arguments):
        return [sys.executable, "-B", os.path.join(BENCH, "naskit", "host_job.py"), "--hosts",
                ",".join(self.nodes), "--library", self.options.preloaded, "--mpi", mpi, "-n",
                str(job.ranks), "--done-pattern", output.DONE, *arguments, *program]

    def preload(self):
        return ["--preload"]

    def hog_commands(self, job):
        # Without a terminal sshd ends nothing: the hog looks itself whether anybody still listens.
        loop = gated("while echo; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done")
        return [[*SSH, self.nodes[rank % len(self.nodes)], loop] for rank in range(job.ranks)]

    def counters(self):
        if not self.scheduling:
            return []
        return [_parsed(self._ssh(host, "coschedctl", "--json", "status"))
                for host in self.nodes]

    def control(self):
        return os.path.join(self.options.build, "ctl", "coschedctl")

    def trace_start(self):
        self.records = True
        for host in self.nodes:
            self._ssh(host, "coschedctl", "trace", "start", str(TRACE_EVENTS))

    def trace_dumps(self):
        """[] where not every host tells its trace, which needs root there."""
        said = [self._ssh(host, "coschedctl", "trace", "dump", host) for host in self.nodes]
        self._trace_stop()
        return said if all(said) else []

    def _trace_stop(self):
        for host in self.nodes:
            self._ssh(host, "coschedctl", "trace", "stop")
        self.records = False

    def environment(self):
        return {"NASKIT_LAB": "", "NASKIT_HOSTS": " ".join(self.nodes)}
