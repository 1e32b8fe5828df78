"""What a run's jobs and daemons said, read. No system call in here."""

import json
import re

from naskit import NasError, gantt

DONE = r"^DCS program=.* verified=\w+"
LINE = re.compile(r"^DCS program=\S+ ranks=\d+ seconds=(?P<seconds>[0-9.]+) cpu_s=(?P<cpu_s>[0-9.]+) "
                  r"verified=(?P<verified>yes|no)$", re.MULTILINE)
SEQUENTIAL = gantt.SEQUENTIAL  # the class's name among the jobs of a trace
LEFT = 2  # of enum protocol_event_kind


def said(text):
    """{"program_s", "program_cpu_s"} of the program's own line: its timed part, and CPU time of a rank in it; {}
    without one."""
    found = LINE.search(text)
    return {"program_s": float(found["seconds"]), "program_cpu_s": float(found["cpu_s"])} if found else {}


def verified(report, text, _loop):
    """Whether a job did its work: a parallel program says so, a sequential one ends with 0."""
    if report["exit_status"] != 0 or report["timed_out"]:
        return False
    found = LINE.search(text)
    return found["verified"] == "yes" if found else report["mpi"] == "none"


def first_to_leave(dump):
    """The job_id of the MPI job that ended first in a node's trace (a parsed dump), or None: the one that was measured,
    as competitors run on."""
    names = {job["job"]: job["job_id"] for job in dump["jobs"]}
    for _, job, kind, _ in dump["events"]:
        if kind == LEFT and names.get(job, SEQUENTIAL) != SEQUENTIAL:
            return names[job]
    return None


def coscheduled(text, job_id):
    """The job's fraction of what `coschedctl trace coscheduled` printed, or None."""
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == job_id and words[-1] != "-":
            return float(words[-1])
    return None


def parsed(texts):
    """The dumps of all nodes, or [] where one cannot be read."""
    try:
        found = [json.loads(text) for text in texts]
    except ValueError:
        return []
    return found if all(found) else []


def check_registered(unit, found, dumps):
    """Raises NasError when classd, whose recordings these are, has seen fewer jobs come than there are MPI programs that ran, by
    their records: the others ran without it, and would be told as coscheduled."""
    launched = sum(not record["in_class"] and (record["is_hog"] or record["verified"]) for record in found)
    came = len(gantt.newcomers(dumps)) if dumps and not any(dump.get("lost") for dump in dumps) else launched
    if came < launched:
        raise NasError(f"{unit.workload}, {unit.mpi} {unit.scheduler}: {came or 'none'} of its {launched} MPI programs registered "
                       "with classd")
