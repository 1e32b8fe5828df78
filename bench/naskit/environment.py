"""Where figures come from: stored beside them, or nobody can compare them later."""

import os
import platform
import re
import subprocess
import time

from . import NasError, memory

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGES_MIB = 16  # to see what a page costs
PATHS = ("build", "preloaded", "npb_dir", "hosts")  # options that are absolute paths


def _output(*command):
    """What a command prints, or "" where it is not there."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              stdin=subprocess.DEVNULL, cwd=ROOT, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout


def _first_line(*command):
    lines = _output(*command).splitlines()
    return lines[0].strip() if lines else None


def _cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _mpi_version(mpi):
    package = {"mpich": "mpich", "openmpi": "openmpi-bin"}[mpi]
    return _first_line("dpkg-query", "-W", "-f", "${Package} ${Version}", package) or _said_version(mpi)


def _said_version(mpi):
    """What its own launcher says, where the distribution does not know it."""
    said = re.search(r"(?:Version:|OpenRTE\)|Open MPI\))\s*(\S+)", _output(f"mpiexec.{mpi}", "--version"))
    return f"{mpi} {said[1]}" if said else None


def settings(text):
    """{SECTION.KEY: value} of what `classd --print-config` prints."""
    found, section = {}, ""
    for line in filter(None, map(str.strip, (text or "").splitlines())):
        if line.startswith("["):
            section = line.strip("[]")
        else:
            # What follows another key by default is printed as a comment: "; gmet = 1s".
            key, equals, value = line.removeprefix("; ").partition("=")
            if not equals or len(key.split()) != 1:
                continue
            found[f"{section}.{key.strip()}"] = value.strip()
    return found


def plain(value):
    """The value without the name of who has run this."""
    home = os.path.expanduser("~")
    if isinstance(value, str) and home != "/" and (value + "/").startswith(home + "/"):
        return "~" + value[len(home):]
    return value


def _from_root(path):
    """The path, from the repository's root on where it lies there: results move to other clones."""
    inside = path is not None and (path + "/").startswith(ROOT + "/")
    return os.path.relpath(path, ROOT) if inside else path


def check_alone(options, defaults, free):
    """What goes on has its options already: none may be given, but for `free`."""
    for name, value in vars(options).items():
        if name not in free and value != defaults[name]:
            taken = " and ".join("--" + {"lasting": "for"}.get(word, word.replace("_", "-"))
                                 for word in free if word not in ("resume", "dry_run"))
            raise NasError(f"--resume: takes everything but {taken} from the folder; leave out "
                           + ("experiments" if name == "experiments" else "--" + name.replace("_", "-")))


def kept(options):
    """The options that a later --resume needs."""
    return {key: _from_root(value) if key in PATHS else value for key, value in vars(options).items()
            if key not in ("out", "resume", "lasting", "anew", "dry_run")}


def taken_up(stored):
    """What kept() has stored, with the paths of this clone, and of this user where plain() took his name out."""
    return {key: os.path.join(ROOT, os.path.expanduser(value)) if key in PATHS and value is not None else value
            for key, value in stored.items()}


def _state(options, kept_mib, sitting):
    return {"sitting": sitting, "kernel": platform.release(), "load_before": os.getloadavg()[0],
            "build": plain(_from_root(options.build)),
            "mpi": {mpi: _mpi_version(mpi) for mpi in options.mpi}, "git_commit": _first_line("git", "rev-parse", "HEAD"),
            "git_changed": bool(_first_line("git", "status", "--porcelain", "--untracked-files=no")),
            "cpu": _cpu_model(), "memory_kept_mib": kept_mib, "page_us": round(memory.page_us(PAGES_MIB), 2),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def describe(options, kept_mib, sitting=1):
    return {
        **_state(options, kept_mib, sitting),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME"),
        "cpus": len(os.sched_getaffinity(0)),
        "options": {key: plain(value) for key, value in kept(options).items()},
    }


def write(results, options, kept_mib, sitting):
    """Writes environment.json; of a session that goes on, adds where it did. `kept_mib`: memory that the site keeps; `sitting`:
    the number that the runs will have."""
    if not options.resume:
        results.write_json("environment.json", describe(options, kept_mib, sitting))
        return
    known = results.read_json("environment.json")
    known.setdefault("resumed", []).append(_state(options, kept_mib, sitting))
    results.write_json("environment.json", known)


def add_site(results, described):
    """Adds to what is known of the present sitting what its site says of itself: classd's settings, and the hosts."""
    known = results.read_json("environment.json")
    [known, *known.get("resumed", [])][-1].update(described)
    results.write_json("environment.json", known)
