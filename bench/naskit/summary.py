"""summary.json: the statistics of all runs, as doc/design/evaluation.md has it. No system call.

A run with a job that did not verify is counted and told, and in no statistic: a job that crashes at once
would look quick, and leaves the nodes to the others."""

from . import experiments, records, statistic, workload

RATIOS = ("mean_response_s", "mean_wait_s", "makespan_s")
WAITED_S = 0.1  # less is the time that starting takes, and no wait to be compared with
JOB_MEASURES = ("response_s", "wait_s", "stretch", "fair_stretch", "cpu_s")


def _groups(items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def place_of(run):
    """What is compared: a workload of a value, under one MPI and scheduler."""
    return run["workload"], run["value"], run["mpi"], run["scheduler"]


def sound(measured):
    """Those of which all jobs verified."""
    return [(run, found) for run, found in measured if not records.unverified(run)]


def by_repetition(measured, baseline):
    """{(sitting, workload, value, mpi, repetition): (run, measures)} of the baseline's runs."""
    return {(records.sitting(run), run["workload"], run["value"], run["mpi"], run["repetition"]): (run, found)
            for run, found in sound(measured) if run["scheduler"] == baseline}


def paired(run, baselines):
    """The baseline's run, and its measures, to compare a run with: of the same value or, where the value means
    nothing to the baseline, its one run; of the same sitting. (None, None) where there is none."""
    for value in (run["value"], None):
        found = baselines.get((records.sitting(run), run["workload"], value, run["mpi"], run["repetition"]))
        if found:
            return found
    return None, None


def ratio(name, own, base):
    if base is None or (name == "mean_wait_s" and (base[name] or 0) < WAITED_S):
        return None
    return records.ratio(own[name], base[name])


def _ratios(group, baselines):
    pairs = [(found, paired(run, baselines)[1]) for run, found in group]
    return {name: statistic.describe([ratio(name, own, base) for own, base in pairs])
            for name in RATIOS}


def _ideal_wait(base, measures, limit, cluster):
    """The ratio that perfect sharing would have, by the times that the jobs took one after the other."""
    if base is None or any(job["wait_s"] is None for job in base["jobs"]):
        return None
    queued = sorted(base["jobs"], key=lambda job: job["arrival_s"])
    waits = workload.fair_waits(cluster, [workload.parse_job(job["job"]) for job in queued],
                                [job["response_s"] - job["wait_s"] for job in queued],
                                [job["arrival_s"] for job in queued], limit)
    return ratio("mean_wait_s", {"mean_wait_s": records.mean(waits)}, measures)


def _ideals(group, baselines, cluster):
    """What the ratios would be if nothing was lost by sharing; of waits, where the degree is limited."""
    experiment = experiments.TABLE.get(group[0][0]["experiment"], experiments.BY_HAND) if group else None
    if not group or not (experiment.parameter and experiment.parameter.limits) or \
            group[0][0]["scheduler"] == experiment.baseline:
        return {}
    found = [_ideal_wait(*paired(run, baselines), run["value"], cluster) for run, _ in group]
    return {"mean_wait_s": statistic.describe(found)}


def _row(key, group, disturbed, baselines, alone, cluster):
    names = group[0][1]
    runs, counted = [run for run, _ in group], sound(group)
    return {"workload": key[0], "value": key[1], "mpi": key[2], "scheduler": key[3],
            "time_slice_s": runs[0]["time_slice_s"], "gmet_s": runs[0]["gmet_s"], "alone": alone,
            "jobs": len(records.ending(runs[0])), "runs": len(runs), "disturbed": disturbed,
            "counted_disturbed": sum(run["disturbed"] for run in runs),
            "unverified": sum(len(records.unverified(run)) for run in runs),
            "hung_in_finalize": sum(job["hung_in_finalize"] for run in runs
                                    for job in records.ending(run)),
            "measures": {name: statistic.describe([found[name] for _, found in counted])
                         for name in names},
            "ratios": _ratios(counted, baselines), "ideals": _ideals(counted, baselines, cluster)}


def _job_rows(key, group):
    """One row per job name; of jobs of one name in a run the mean counts, as they are not
    independent of each other."""
    per_run = [_groups(records.ending(run), lambda job: job["job"]) for run, _ in sound(group)]
    for name in dict.fromkeys(name for jobs in per_run for name in jobs):
        measures = {measure: statistic.describe(
            [records.mean(job[measure] for job in jobs[name]) for jobs in per_run if name in jobs])
            for measure in JOB_MEASURES}
        yield {"workload": key[0], "value": key[1], "mpi": key[2], "scheduler": key[3], "job": name,
               "measures": measures}


def describe(runs, cluster, alone=(), complete=False, gantt=(), order=()):
    """`runs` are all lines of runs.jsonl, `alone` the names of schedulers that run jobs alone,
    `order` the rows' (experiment, workload, value, mpi, scheduler) as planned."""
    attempts = _groups(runs, lambda run: (run["experiment"], *place_of(run)))
    counted = records.valid(runs)
    records.add_stretch(counted, cluster)
    found = {}
    for name, own in _groups(counted, lambda run: run["experiment"]).items():
        experiment = experiments.TABLE.get(name, experiments.BY_HAND)
        measured = [(run, records.measures(run, cluster.nodes)) for run in own]
        baselines = by_repetition(measured, experiment.baseline)
        rows, jobs = [], []
        groups = _groups(measured, lambda pair: place_of(pair[0]))
        for key in sorted(groups, key=_place(order, name)):
            disturbed = sum(run["disturbed"] for run in attempts[(name, *key)])
            rows.append(_row(key, groups[key], disturbed, baselines, key[3] in alone, cluster))
            jobs += _job_rows(key, groups[key])
        parameter = experiment.parameter
        found[name] = {"title": experiment.title,
                       "parameter": parameter.described() if parameter else None,
                       "baseline": experiment.baseline, "rows": rows, "jobs": jobs}
    return {"format": 1, "complete": complete, "experiments": found, "gantt": list(gantt)}


def _place(order, experiment):
    places = {key[1:]: place for place, key in enumerate(order) if key[0] == experiment}
    return lambda key: places.get(key, len(places))
