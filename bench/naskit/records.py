"""What follows from raw runs (the lines of runs.jsonl): which attempts count, stretch, the measures of
a run. No system call in here."""

import statistics

from . import experiments, workload

COUNTERS = ("switches", "requests", "granted", "discarded", "false")


def sitting(run):
    """In which a line of runs.jsonl was made, from 1. Only what one sitting has measured is compared: before
    the next one the machine may have become another."""
    return run.get("sitting", 1)


def is_again(run):
    """Whether it was run once more only so that a later sitting has something to compare with."""
    return run.get("again", False)


def valid(runs):
    """Of each unit's attempts the one that counts: the last undisturbed one, else the quietest; and one of each
    sitting that ran it again."""
    chosen = {}
    for run in runs:
        key = run["place"], sitting(run) if is_again(run) else 0
        if key not in chosen or _better(run, chosen[key]):
            chosen[key] = run
    return [chosen[key] for key in sorted(chosen)]


def attempts(runs, place):
    """At one place of the plan; not those that only give a later sitting something to compare with."""
    return [run for run in runs if run["place"] == place and not is_again(run)]


def is_due(tried, retries):
    """Whether a unit with these attempts is to be run, or run again."""
    return not tried or len(tried) <= retries and all(run["disturbed"] for run in tried)


def due(runs, places, retries):
    """Those of `places` whose units are."""
    return [place for place in places if is_due(attempts(runs, place), retries)]


def standing(runs):
    """Those that were made with the settings that their experiments have now: what the others ran is still to be run."""
    return [run for run in runs if run.get("settings", {}) == dict(experiments.settings(run["experiment"], run["value"]))]


def current(runs):
    """Those that no later sitting has made anew."""
    latest = {run["place"]: sitting(run) for run in runs if run.get("anew")}
    return [run for run in runs if sitting(run) >= latest.get(run["place"], 0)]


def _better(run, before):
    if run["disturbed"] != before["disturbed"]:
        return before["disturbed"]
    return not run["disturbed"] or _is_quieter(run, before)


def _is_quieter(run, before):
    """What went on during a run says more than what did around it."""
    known = all(one.get("pace_s") is not None for one in (run, before))
    measure = "pace_s" if known else "calibration_s"
    return run[measure] <= before[measure]


def _repetition(run):
    return run["experiment"], run["repetition"]


def reference(schedulers):
    """What jobs beside others are compared with, of the schedulers of an experiment: the jobs alone without cosched; where
    only that is there, alone with it, which takes what the library costs out of the comparison."""
    return "dedicated-cosched" if "dedicated" not in schedulers and "dedicated-cosched" in schedulers else "dedicated"


class Dedicated:
    """Response times of jobs alone, of verified runs, by each experiment's reference. A run is compared with those of its own
    repetition, so that the spread of its stretch is that of both; where that has none in the run's sitting, or one that was
    disturbed in every attempt, with the median of the sitting."""

    def __init__(self, runs):
        schedulers, times = {}, {}
        for run in runs:
            schedulers.setdefault(run["experiment"], set()).add(run["scheduler"])
        self.reference = {name: reference(found) for name, found in schedulers.items()}
        # Those that were disturbed come last, and where there are others not at all.
        for run in sorted(runs, key=lambda run: run["disturbed"]):
            for job in run["jobs"] if run["scheduler"] == self.reference[run["experiment"]] else ():
                key = run["scheduler"], sitting(run), run["mpi"], job["job"]
                if job["verified"] and not (run["disturbed"] and key in times and times[key][0]):
                    times.setdefault(key, (not run["disturbed"], []))[1].append(job["response_s"])
                    times.setdefault((*key, _repetition(run)), (True, []))[1].append(job["response_s"])
        self.median_s = {key: statistics.median(values) for key, (_, values) in times.items()}

    def of(self, run, name):
        key = self.reference[run["experiment"]], sitting(run), run["mpi"], name
        return self.median_s.get((*key, _repetition(run)), self.median_s.get(key))

    def everywhere(self, mpi, name):
        """Of all sittings and repetitions."""
        return [seconds for key, seconds in self.median_s.items() if key[2:4] == (mpi, name)]


def ratio(value, base):
    return value / base if value is not None and base else None


def _fair(cluster, run, times):
    """Response times under perfect sharing, where they can be said."""
    jobs = [workload.parse_job(job["job"]) for job in run["jobs"]]
    dedicated_s = [float("inf") if job.is_hog else times.of(run, str(job)) for job in jobs]
    if not run["together"] or None in dedicated_s:
        return [None] * len(jobs)
    return workload.fair_response(cluster, jobs, dedicated_s)


def add_stretch(runs, cluster):
    """Fills in dedicated_s, stretch = response / (dedicated x degree) and fair_stretch = response /
    response under perfect sharing of each job. Null where the job has no verified dedicated run in the
    run's sitting, and where jobs wait for each other or arrive one by one: what they share is not known then."""
    times = Dedicated(runs)
    for run in runs:
        for job, fair_s in zip(run["jobs"], _fair(cluster, run, times)):
            ended = not workload.parse_job(job["job"]).is_hog
            base_s = times.of(run, job["job"]) if ended else None
            job["dedicated_s"] = base_s
            job["stretch"] = ratio(job["response_s"], base_s and base_s * job["degree"]) if run["together"] else None
            job["fair_stretch"] = ratio(job["response_s"], fair_s) if ended else None


def ending(run):
    """The jobs that end by themselves."""
    return [job for job in run["jobs"] if not workload.parse_job(job["job"]).is_hog]


def last_end_s(run):
    """Of the jobs: a hog is ended when the last launcher has, which may have waited for a program that hung."""
    return max(job["end_s"] for job in ending(run))


def mean(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _of_all(values):
    """The values; none where one is not known: a mean of some jobs is the mean of another workload."""
    found = list(values)
    return [] if None in found else found


def _sum(values):
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _hung(run):
    """Whether a job did not end: times are those up to its last line, but counters, traces and who is left go on to
    where it was ended."""
    return any(job["hung_in_finalize"] for job in ending(run))


def _hogs_part(run):
    """What hogs had of a CPU each while they were there, from 0 to 1; None without hogs, and where nobody can say."""
    hogs = [job for job in run["jobs"] if workload.parse_job(job["job"]).is_hog]
    cpus_s = sum(workload.parse_job(job["job"]).ranks * (job["end_s"] - job["start_s"]) for job in hogs)
    return ratio(_sum(_of_all(job["cpu_s"] for job in hogs)), cpus_s)


def measures(run, nodes):
    """The figures of one run, by name; None where there is no such figure."""
    jobs = ending(run)
    makespan_s = run["makespan_s"]
    counters = run["counters"]
    hung = _hung(run)
    shares = [job["fairness"] for job in jobs if job["fairness"] is not None and not hung]
    return {
        "mean_response_s": mean(job["response_s"] for job in jobs),
        "mean_wait_s": mean(job["wait_s"] for job in jobs),
        "mean_stretch": mean(_of_all(job["stretch"] for job in jobs)),
        "mean_fair_stretch": mean(_of_all(job["fair_stretch"] for job in jobs)),
        "worst_stretch": max(_of_all(job["stretch"] for job in jobs), default=None),
        "makespan_s": makespan_s,
        "throughput_per_h": ratio(3600 * len(jobs), makespan_s),
        "cpu_s": _sum(job["cpu_s"] for job in jobs),
        "fairness": min(shares) if shares else None,
        "hogs_part": None if hung else _hogs_part(run),
        "coscheduled_fraction": None if hung else run["coscheduled_fraction"],
        "switches_per_s": None if hung else ratio(counters["switches"], makespan_s and makespan_s * nodes),
        **{name: counters[name] for name in COUNTERS[1:]},
    }


def unverified(run):
    return [job for job in ending(run) if not job["verified"]]


def flat(runs):
    """One record per job and run, the form of results.json."""
    found = []
    for run in runs:
        for job in ending(run):
            of_run = {"switches": run["counters"]["switches"],
                      "requests": run["counters"]["requests"],
                      "requests_granted": run["counters"]["granted"],
                      "requests_discarded": run["counters"]["discarded"],
                      "requests_false": run["counters"].get("false"),
                      "coscheduled_fraction": run["coscheduled_fraction"]}
            known = {name: value for name, value in of_run.items() if value is not None}
            found.append({
                "experiment": run["experiment"], "workload": run["workload"], "value": run["value"],
                "scheduler": run["scheduler"], "mpi": run["mpi"], "repetition": run["repetition"],
                "mix": " ".join(other["job"] for other in run["jobs"]), **job,
                "ranks": workload.parse_job(job["job"]).ranks, **known})
    return found
