"""Results as lines of JSON in a file, so that an interrupted session goes on where it was."""

import json
import os

from . import TrialError


def read(path):
    """The records of the file; none where there is no file. A last line that was cut off is dropped."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    records = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise TrialError(f"{path}, line {number}: not a result; name another file") from None
    return records


class Store:
    """Appends records, to the file if there is one."""

    def __init__(self, path):
        self.path = path
        try:
            self.records = read(path)
            if path:
                self._drop_cut_line()
        except OSError as error:
            raise TrialError(f"--results {path}: {error.strerror}: name another file") from None

    def _drop_cut_line(self):
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        with open(self.path, "ab+") as file:
            file.seek(0)
            text = file.read()
            file.truncate(text.rfind(b"\n") + 1)

    def add(self, record):
        self.records.append(record)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
                file.flush()
                os.fsync(file.fileno())
