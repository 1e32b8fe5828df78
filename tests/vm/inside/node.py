"""The node that a test inside a guest runs on: daemons and jobs as users have them, classes as the kernel
shows them. The guest is thrown away, so nothing here cleans up."""

import json
import os
import subprocess
import sys
import time

BUILD = os.environ.get("COSCHED_BUILD_DIR", "")
LIBRARY = os.path.join(BUILD, "pmpi", "libcosched_pmpi.so")
CG = os.path.join(BUILD, "bench", "npb", "mpich", "bin", "cg")
CONFIG = "/etc/cosched.ini"
CLASSES = "/sys/fs/cgroup/cosched"
DEADLINE_S = 60  # emulation is 30 to 60 times slower than the machine
GRACE_S = 10
DAEMONS = []

if not os.path.exists("/run/vm/command"):
    sys.exit("only for a guest of tests/vm/vm.py: it would change this machine")


def eventually(condition, what, deadline_s=DEADLINE_S):
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


def configure(**settings):
    """configure(scheduler={"gmet": "1s"}) writes the file that daemons read by default."""
    with open(CONFIG, "w", encoding="ascii") as file:
        for section, keys in settings.items():
            file.write(f"[{section}]\n")
            file.writelines(f"{key} = {value}\n" for key, value in keys.items())


def start_daemons():
    """classd and timerd, their lines among the guest's output. They end with the guest."""
    DAEMONS.extend(map(start_daemon, ("classd/classd", "timerd/timerd")))


def start_daemon(program):
    process = subprocess.Popen([os.path.join(BUILD, program)], stdin=subprocess.DEVNULL)
    eventually(lambda: control("status") is not None, "classd answers")
    return process


def control(command, program=os.path.join(BUILD, "ctl", "coschedctl")):
    """What `coschedctl COMMAND --json` says; None when classd does not answer."""
    run = subprocess.run([program, "--json", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def classes():
    if not os.path.isdir(CLASSES):
        return []
    return sorted(entry.name for entry in os.scandir(CLASSES) if entry.is_dir())


def limit(name):
    """The quota and period of a class, as words; None when it is gone."""
    try:
        with open(os.path.join(CLASSES, name, "cpu.max"), encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return None


def is_limited(name):
    return limit(name) not in (None, ["max", "100000"])


class Launched:
    """A job that prints verified=yes at its end, however it is started."""

    def __init__(self, command, **variables):
        self.path = f"/run/job-{time.monotonic_ns()}"
        with open(self.path, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(command, env={**os.environ, "COSCHED_STATS": "1", **variables},
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def text(self):
        with open(self.path, encoding="utf-8") as output:
            return output.read()

    def runs(self):
        return self.process.poll() is None and "verified=yes" not in self.text()

    def finish(self):
        """The job's output; it must have ended well. MPICH over UCX's TCP sometimes hangs in MPI_Finalize,
        with no help of ours: a job that has verified may do that."""
        try:
            status = self.process.wait(DEADLINE_S)
            assert status == 0, f"exit status {status}\n{self.text()}"
        except subprocess.TimeoutExpired:
            if "verified=yes" not in self.text():
                raise
            print("a verified job hangs in MPI_Finalize", flush=True)
            self.process.terminate()
            self.process.wait(GRACE_S)
        return self.text()


class Job(Launched):
    """One mpiexec of CG, with the library; `length` is ("--repeat", N) or ("--seconds", S)."""

    def __init__(self, ranks, length, *launcher, **variables):
        super().__init__(["mpiexec.mpich", *launcher, "-n", str(ranks), CG, "S", *map(str, length)],
                         LD_PRELOAD=LIBRARY, **variables)
