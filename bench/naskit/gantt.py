"""Which job held which node when: classd's trace dumps of a run, matched with the run's jobs. No
system call in here."""

import statistics

from . import records

# Of enum protocol_event_kind.
CAME, LEFT, SCHEDULED, IDLE, FREE = 1, 2, 3, 4, 5
HOLDS = (SCHEDULED, FREE)
SEQUENTIAL = "sequential"  # the id of the class of what is nobody's job

# A job is registered for less than its launcher lives, by its launch and its end; clocks of several
# hosts agree to better than this.
SLACK_S = 0.5


def spans(dump, origin_s):
    """{job number: [(from, to)]}, in seconds after `origin_s` (a time of day): when the node of this
    dump let the job run unhindered."""
    found, since = {}, {}
    last_s = 0.0
    for at_ns, job, kind, _ in dump["events"]:
        last_s = at_ns / 1e9 - origin_s
        if kind in HOLDS:
            since.setdefault(job, last_s)
        elif kind in (IDLE, LEFT) and job in since:
            found.setdefault(job, []).append((since.pop(job), last_s))
    for job, from_s in since.items():
        found.setdefault(job, []).append((from_s, last_s))
    return found


def lifetimes(dumps, origin_s):
    """{job number: (first, last)} of the jobs, over all nodes."""
    found, others = {}, _sequential(dumps)
    for dump in dumps:
        for at_ns, job, _, _ in dump["events"]:
            at_s = at_ns / 1e9 - origin_s
            first, last = found.get(job, (at_s, at_s))
            found[job] = min(first, at_s), max(last, at_s)
    return {job: ends for job, ends in found.items() if int(job, 16) != 0 and job not in others}


def _sequential(dumps):
    return {job["job"] for dump in dumps for job in dump.get("jobs", ()) if job["job_id"] == SEQUENTIAL}


def newcomers(dumps):
    """The numbers of the jobs that came while this was recorded."""
    return {job for dump in dumps for _, job, kind, _ in dump["events"] if kind == CAME} - _sequential(dumps)


def match(lifetimes_s, jobs):
    """{job number: index}: each job of the trace belongs to the launch of the run's jobs whose start and end are nearest to
    its own among those that it was within; nearest pairs first, and each launch once. Its own end comes before the
    launch's, by so much that two that end within that could not be told apart by their ends."""
    places = [(index, *launch) for index, job in enumerate(jobs) for launch in _launches(job)]
    candidates = [
        (first_s - start_s, end_s - last_s, number, place)
        for number, (first_s, last_s) in lifetimes_s.items()
        for place, (index, start_s, end_s) in enumerate(places)
        if first_s >= start_s - SLACK_S and (last_s <= end_s + SLACK_S or jobs[index].get("hung_in_finalize"))]
    found = _nearest(candidates, 0.0, 0.0)
    # What a launch takes before and after is much the same for all: known, it tells them apart better.
    if found:
        found = _nearest(candidates, *(statistics.median(lags) for lags in zip(*(lag for _, lag in found.values()))))
    return {number: places[place][0] for number, (place, _) in found.items()}


def _nearest(candidates, before_s, after_s):
    """{number: (place, lags)}, nearest pairs first by their (lag before, lag after, number, place)."""
    taken, found = set(), {}
    for before, after, number, place in sorted(
            candidates, key=lambda one: (abs(one[0] - before_s) + abs(one[1] - after_s), one[2:])):
        if number not in found and place not in taken:
            taken.add(place)
            found[number] = place, (before, after)
    return found


def _launches(job):
    """(start, end) of each: one after the other."""
    start_s = job["start_s"] or 0.0
    for seconds in job.get("seconds") or []:
        yield start_s, start_s + seconds
        start_s += seconds


def chart(run, nodes, dumps, origin_s):
    """The gantt/*.json of a run; without dumps it has no spans."""
    numbers = match(lifetimes(dumps, origin_s), run["jobs"])
    found = []
    for node, dump in enumerate(dumps):
        for number, held in spans(dump, origin_s).items():
            if number in numbers:
                found += [{"node": node, "job": numbers[number], "from_s": round(from_s, 4),
                           "to_s": round(to_s, 4)} for from_s, to_s in held if to_s > from_s]
    jobs = [{name: job[name] for name in ("index", "job", "arrival_s", "start_s", "end_s")}
            for job in run["jobs"]]
    return {"nodes": nodes, "duration_s": records.last_end_s(run), "jobs": jobs,
            "spans": sorted(found, key=lambda span: (span["node"], span["from_s"]))}
