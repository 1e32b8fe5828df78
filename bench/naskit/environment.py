"""Where figures come from: stored beside them, or nobody can compare them later."""

import os
import platform
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def _first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              stdin=subprocess.DEVNULL, cwd=ROOT, check=False)
    except FileNotFoundError:
        return None
    lines = done.stdout.splitlines()
    return lines[0].strip() if lines else None


def _cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _mpi_version(mpi):
    package = {"mpich": "mpich", "openmpi": "openmpi-bin"}[mpi]
    return _first_line("dpkg-query", "-W", "-f", "${Package} ${Version}", package)


def describe(options):
    return {
        "kernel": platform.release(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME"),
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
        "mpi": {mpi: _mpi_version(mpi) for mpi in options.mpi},
        "git_commit": _first_line("git", "rev-parse", "HEAD"),
        "git_changed": bool(_first_line("git", "status", "--porcelain", "--untracked-files=no")),
        "options": {key: value for key, value in vars(options).items() if key != "out"},
    }
