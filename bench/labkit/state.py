"""What the lab remembers: one JSON file in its state directory, replaced atomically, written before
the thing that it speaks of is used. `lab down` needs no more than this and the lab's name."""

import contextlib
import fcntl
import json
import os
import re
import time

from . import LabError

DEFAULT_NAME = "cosched-lab"


def check_name(name):
    """Names are also names of cgroups: only such that nobody else uses may be removed."""
    if not re.fullmatch(r"cosched-lab(-[A-Za-z0-9]+)*", name):
        raise LabError(f"lab name {name!r}: must be {DEFAULT_NAME} or {DEFAULT_NAME}-SOMETHING")
    return name


# What a lab has in its directory.
OWN = re.compile(r"lab\.json|lab\.json\.new|agent|private|node[0-9]+")


class Store:
    def __init__(self, name=None, directory=None):
        self.name = check_name(name or DEFAULT_NAME)
        self.directory = os.path.abspath(directory or f"/run/{self.name}")
        self.path = os.path.join(self.directory, "lab.json")

    def file(self, *parts):
        return os.path.join(self.directory, *parts)

    def check_own(self):
        """Raises LabError where the directory may be somebody else's: it goes with the lab, whatever is in it."""
        if self.directory == f"/run/{self.name}" or self.load() is not None:
            return
        try:
            names = sorted(os.listdir(self.directory))
            recorded = any(name.startswith("lab.json") for name in names)
            strange = [name for name in names if not (recorded and OWN.fullmatch(name))]
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise LabError(f"--state {self.directory}: is no directory") from None
        if strange:
            raise LabError(f"--state {self.directory}: is no lab's, as it has {strange[0]}: name a directory that is "
                           "for the lab alone, and goes with it")

    def load(self):
        """The lab as a dictionary, or None when there is none (or its record is unreadable)."""
        try:
            with open(self.path, encoding="utf-8") as file:
                lab = json.load(file)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        self.name = check_name(lab["name"])
        return lab

    def require(self):
        lab = self.load()
        if lab is None or not lab["complete"]:
            raise LabError(f"no lab is up in {self.directory}: start one with `lab up`")
        return lab

    def save(self, lab):
        temporary = self.path + ".new"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(lab, file, indent=1)
        os.replace(temporary, self.path)

    @contextlib.contextmanager
    def locked(self, timeout_s=60):
        """One up, down or daemons command at a time. The parent directory carries the lock: it stays
        when the lab goes, and the kernel drops the lock with its holder."""
        parent = os.path.dirname(self.directory)
        os.makedirs(parent, exist_ok=True)
        descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise LabError(f"another lab command is at work in {parent}") from None
                    time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)
