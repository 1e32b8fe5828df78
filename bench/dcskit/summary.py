"""summary.json: what follows from the runs. No system call in here.

The unit of response is the program's own timed part where it has one (latency, barrier): launching is no part of it. In
the mixed workload it is the time from launch to end, for all programs alike. Runs with a job that did not verify are
counted, and in no figure: a program that crashes leaves the nodes to the others."""

from naskit import records, statistic, workload

from . import jobs, plan, variants

MEASURES = ("response_s", "cpu_s", "slowdown", "cpu_ratio", "useful", "fairness", "coscheduled")


def counting(runs):
    """Of each unit's attempts the one that counts."""
    return records.valid(runs)


def _job(record):
    """The Job of a record."""
    return jobs.Job(record["name"], record["node"], in_class=record["in_class"], is_hog=record["is_hog"])


def cpu_s(record):
    """Of one process, or of one node's processes where the program does not say."""
    return record.get("program_cpu_s", record["cpu_s"])


def _response(run, record):
    lasted_s = record["end_s"] - record["start_s"]
    return lasted_s if run["experiment"] == "mixed" else record.get("program_s", lasted_s)


def _is_alone(run):
    return plan.is_alone(run["scheduler"], run["value"])


def unverified(run):
    return [job for job in run["jobs"] if not job["verified"]]


def _ending(run):
    return [job for job in run["jobs"] if not job["is_hog"]]


def alone(runs):
    """{(sitting, mpi, experiment, job): {"response_s", "cpu_s"}}, medians of the runs of the job alone; with its number behind
    that of each repetition. Between sittings the machine may have become another. A run that was disturbed says nothing where
    there are others."""
    found = {}
    lone = [run for run in runs if _is_alone(run)]
    quiet = {_place(run, job) for run in lone if not run["disturbed"] for job in _ending(run)}
    for run in lone:
        for job in _ending(run):
            key = _place(run, job)
            if run["disturbed"] and key in quiet:
                continue
            for one in (key, (*key, run["repetition"])):
                of_job = found.setdefault(one, {"response_s": [], "cpu_s": []})
                of_job["response_s"].append(_response(run, job))
                of_job["cpu_s"].append(cpu_s(job))
    return {key: {name: statistic.describe(values)["median"] for name, values in measured.items()}
            for key, measured in found.items()}


def _place(run, job):
    return records.sitting(run), run["mpi"], run["experiment"], job["job"]


def _base(run, job, known):
    """What the job takes alone: in the run's own repetition, so that the spread of ratios is that of both; where that has none,
    in the median of the sitting."""
    key = _place(run, job)
    return known.get((*key, run["repetition"]), known.get(key, {}))


def alone_share(runs):
    """The part of the time that a program that spins, alone, had its CPUs: below 1, others were on the machine all the
    time, which the noise guard cannot see. None where it is not known."""
    return statistic.describe([job["program_cpu_s"] / job["program_s"] for run in runs if _is_alone(run)
                               for job in _ending(run) if job.get("program_s")])


def ideal_s(run, sharing, known):
    """{job: response time when the nodes are shared perfectly}; {} where that is not known."""
    everybody = [_job(job) for job in run["jobs"]]
    alone_s = [float("inf") if job["is_hog"] else _base(run, job, known).get("response_s") for job in run["jobs"]]
    if None in alone_s:
        return {}
    if run["scheduler"] == plan.ALONE:
        return {job["job"]: seconds for job, seconds in zip(run["jobs"], alone_s)}
    fair_s = workload.fair_response(sharing, everybody, alone_s)
    return {job["job"]: seconds for job, seconds in zip(run["jobs"], fair_s)}


def fairness(run, job):
    """F of equation 2. In the mixed workload up to the end of the first job, as in the paper."""
    if run["experiment"] == "mixed":
        return job["fairness"]
    if "program_s" not in job or not job["program_s"]:
        return None
    return run["parties"] * job["program_cpu_s"] / job["program_s"]


def measures(run, job, ideal, known):
    """The figures of one job of a run, by name."""
    base = _base(run, job, known)
    used_s, taken_s = cpu_s(job), _response(run, job)
    return {"response_s": taken_s, "cpu_s": used_s,
            "slowdown": records.ratio(taken_s, ideal.get(job["job"])),
            "cpu_ratio": records.ratio(used_s, base.get("cpu_s")),
            "useful": records.ratio(base.get("cpu_s"), used_s),
            "fairness": None if run["scheduler"] == plan.ALONE else fairness(run, job),
            "coscheduled": run["coscheduled"] if not job["in_class"] and run["scheduler"] != plan.ALONE else None}


def _rows_of(group, sharing, known):
    """One row per program: of its jobs on several nodes the mean counts."""
    by_name = {}
    for run in group:
        ideal = ideal_s(run, sharing, known)
        of_run = {}
        for job in _ending(run):
            of_run.setdefault(job["name"], []).append(measures(run, job, ideal, known))
        for name, found in of_run.items():
            by_name.setdefault(name, []).append({measure: records.mean(one[measure] for one in found)
                                                 for measure in MEASURES})
    for name, found in by_name.items():
        yield name, {measure: statistic.describe([one[measure] for one in found]) for measure in MEASURES}


def _unknown_rows(group):
    """Those of a unit of which no run verified: told, with no figure."""
    for name in dict.fromkeys(job["name"] for run in group for job in _ending(run)):
        yield name, dict.fromkeys(MEASURES)


def _batches(runs):
    """{(sitting, mpi, repetition): until the last program ended}, of all programs one after the other; without the repetition,
    the median of the sitting. As alone()."""
    found = {}
    batches = [run for run in runs if run["scheduler"] == plan.ALONE]
    quiet = {(records.sitting(run), run["mpi"]) for run in batches if not run["disturbed"]}
    for run in batches:
        key = records.sitting(run), run["mpi"]
        if not (run["disturbed"] and key in quiet):
            for one in (key, (*key, run["repetition"])):
                found.setdefault(one, []).append(run["makespan_s"])
    return {key: statistic.describe(values)["median"] for key, values in found.items()}


def _batch_s(run, batches):
    key = records.sitting(run), run["mpi"]
    return batches.get((*key, run["repetition"]), batches.get(key))


def _over_batch(group, batches):
    return statistic.describe([records.ratio(run["makespan_s"], _batch_s(run, batches)) for run in group
                               if run["experiment"] == "mixed"])


def _key(run):
    return run["experiment"], run["mpi"], run["workload"], run["value"], run["scheduler"]


def _order(key):
    names = [plan.ALONE, *variants.VARIANTS]
    experiment, mpi, kind, count, scheduler = key
    return experiment, mpi, kind, -1 if count is None else count, names.index(scheduler)


def describe(runs, sharing, complete, figures, waits):
    """`runs` are all lines of runs.jsonl, `waits` {variant: value of [client] wait that ran}."""
    counted = counting(runs)
    sound = [run for run in counted if not unverified(run)]
    known, batches = alone(sound), _batches(sound)
    groups = {}
    for run in counted:
        groups.setdefault(_key(run), []).append(run)
    disturbed = sum(run["disturbed"] for run in counted)
    rows = []
    for key in sorted(groups, key=_order):
        group = [run for run in groups[key] if not unverified(run)]
        makespan = statistic.describe([run["makespan_s"] for run in group])
        found = _rows_of(group, sharing, known) if group else _unknown_rows(groups[key])
        for program, measured in found:
            rows.append({**dict(zip(("experiment", "mpi", "competitors", "count", "variant"), key)),
                         "program": program, "runs": len(groups[key]), "parties": groups[key][0]["parties"],
                         "unverified": sum(len(unverified(run)) for run in groups[key]),
                         "measures": measured, "makespan_s": makespan, "over_batch": _over_batch(group, batches)})
    return {"format": 1, "complete": complete, "figures": list(figures), "waits": waits, "disturbed": disturbed,
            "runs": len(counted), "unsound": len(counted) - len(sound), "alone_share": alone_share(sound),
            "load": statistic.describe([run["load"] for run in counted]), "rows": rows}
