"""Reading a results folder, and writing the report into it so that nobody ever sees half of one."""

import json
import os
import shutil
import tempfile

from . import ReportError, model


def _reject_constant(name):
    raise ValueError(f"{name} is no JSON")


def _json(path, name):
    """The parsed file, or None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file, parse_constant=_reject_constant)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{name}: cannot be read: {error}") from None


def read(folder):
    """model.Results of the folder."""
    if not os.path.isdir(folder):
        raise ReportError(f"{folder}: is no folder; name one that bench/run_nas.sh left")
    summary = _json(os.path.join(folder, "summary.json"), "summary.json")
    if summary is None:
        raise ReportError(f"{folder}: has no summary.json; name a folder that bench/run_nas.sh left")
    return model.results(summary, *(_json(os.path.join(folder, name), name) for name in ("environment.json", "remarks.json")))


def read_gantt(folder, entry):
    """model.Gantt of the entry, or None where its file is missing (a session may have been interrupted)."""
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, entry.file))
    if os.path.commonpath([root, path]) != root:
        raise ReportError(f"summary.json: gantt file {entry.file!r}: lies outside the results folder")
    found = _json(path, entry.file)
    return None if found is None else model.gantt(found, entry.file)


def write(folder, files):
    """Writes {relative path: bytes} as report.html, report.md and figures/. All are complete before any is moved
    into place, and figures/ is replaced as a whole, so that none is left over from an earlier report."""
    try:
        stage = tempfile.mkdtemp(prefix=".report-", dir=folder)
    except OSError as error:
        raise ReportError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        os.mkdir(os.path.join(stage, "figures"))
        for name, content in files.items():
            with open(os.path.join(stage, name), "wb") as file:
                file.write(content)
        figures = os.path.join(folder, "figures")
        if os.path.lexists(figures):
            os.rename(figures, os.path.join(stage, "old"))
        os.rename(os.path.join(stage, "figures"), figures)
        for name in ("report.md", "report.html"):
            os.replace(os.path.join(stage, name), os.path.join(folder, name))
    except OSError as error:
        raise ReportError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
