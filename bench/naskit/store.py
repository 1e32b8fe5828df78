"""The results folder: what has been measured is on disk before the next unit begins."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import weakref

from . import NasError, noise, records

LONGEST_NAME = 150


@contextlib.contextmanager
def _writing(path):
    """A full disk is no fault of the program: what was measured is there, and the session can go on."""
    try:
        yield
    except OSError as error:
        raise NasError(f"{path}: cannot be written ({error.strerror}): mend that, and go on with --resume") from None


class Store:
    def __init__(self, folder):
        self.folder = folder
        self.held = None  # the folder, open and locked, for as long as this is there

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make(self):
        try:
            os.makedirs(self.path("logs"), exist_ok=True)
            os.makedirs(self.path("gantt"), exist_ok=True)
        except OSError as error:
            raise NasError(f"{self.folder}: cannot be made ({error.strerror}): name another folder with --out") from None
        if not os.access(self.folder, os.W_OK):
            raise NasError(f"{self.folder}: cannot be written: name another folder with --out")
        self._hold()

    def _hold(self):
        """Two sessions that write here would take each other's runs for their own."""
        if self.held is None:
            self.held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            weakref.finalize(self, os.close, self.held)
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NasError(f"{self.folder}: another session is writing there: let it end, or name another folder with --out") from None
        except OSError:
            pass  # some network's file systems lock no folders

    def write_json(self, name, value):
        """Replaces a file as a whole, as write_text() does: whoever reads sees the old one or the new one."""
        with self._replaced(name) as file:
            json.dump(value, file, indent=1)
            file.write("\n")

    def write_text(self, name, text):
        with self._replaced(name) as file:
            file.write(text)

    @contextlib.contextmanager
    def _replaced(self, name):
        temporary = self.path(name + ".new")
        with _writing(self.path(name)):
            with open(temporary, "w", encoding="utf-8") as file:
                yield file
            os.replace(temporary, self.path(name))

    def read_json(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return json.load(file)
        except (FileNotFoundError, NotADirectoryError):
            raise NasError(f"{self.path(name)}: is not there; is {self.folder} a results folder of "
                           "this program?") from None
        except ValueError as error:
            raise NasError(f"{self.path(name)}: {error}") from None

    def append_run(self, run):
        with _writing(self.path("runs.jsonl")):
            self._drop_cut_line()
            with open(self.path("runs.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def _drop_cut_line(self):
        with open(self.path("runs.jsonl"), "ab+") as file:
            size = file.tell()
            file.seek(max(size - 1, 0))
            if file.read() not in (b"", b"\n"):
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)

    def runs(self):
        """All runs so far. A last line that was cut off half way is none, and its run is made again; it stays until then, as
        the session that writes it may still be alive."""
        path = self.path("runs.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
        found = []
        for number, line in enumerate(lines[:-1], 1):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise NasError(f"{path}:{number}: is not JSON") from None
        return found

    def left(self, units, factor, retries):
        """The units of a plan that are not among them, and those that were disturbed each time and may be run again; `factor`
        is the noise guard's."""
        return [units[place] for place in records.due(noise.judged(self.runs(), factor), range(len(units)), retries)]

    def log_base(self, place, attempt, unit, index):
        """The path of a job's log, without an extension."""
        words = [f"{place:04}" + (f".{attempt}" if attempt > 1 else ""), unit.mpi, unit.scheduler,
                 str(index), str(unit.jobs[index])]
        return self.path("logs", slug("-".join(words)))


def slug(text):
    """The text as a file name: a long one is cut, and stays one of its kind."""
    name = re.sub(r"[^A-Za-z0-9.@_-]+", "_", text.replace("*", "x"))
    if len(name) <= LONGEST_NAME:
        return name
    return name[:LONGEST_NAME] + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]
