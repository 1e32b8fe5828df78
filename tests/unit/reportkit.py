"""Results folders as bench/run_nas.sh leaves them, made up: for the tests of bench/report."""

import json
import os
import random
import statistics

KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
ENVIRONMENT = {"kernel": "6.1.0", "cpu": "An example CPU", "cpus": 2, "mpi": {"mpich": "mpich 4.0.2"},
               "git_commit": "0123456789abcdef", "git_changed": False,
               "options": {"nodes": 2, "cpus_per_node": 1, "seed": 1, "mpi": ["mpich", "openmpi"]}}


def statistic(values):
    """The STATISTIC of doc/design/evaluation.md, with intervals that are roughly right."""
    if not values:
        return None
    several = len(values) > 1
    half = 2 * statistics.stdev(values) / len(values) ** 0.5 if several else 0
    mean = statistics.fmean(values)
    return {"n": len(values), "median": statistics.median(values), "mean": mean,
            "t": [mean - half, mean + half] if several else None,
            "bootstrap": [min(values), max(values)] if several else None}


class Maker:
    """Rows with `runs` repetitions around given values."""

    def __init__(self, runs=5, seed=1, noise=0.03):
        self.runs = runs
        self.noise = noise
        self.rng = random.Random(seed)

    def around(self, value):
        return [value * (1 + self.rng.gauss(0, self.noise)) for _ in range(self.runs)]

    def row(self, workload, value, mpi, scheduler, response_s, ratio=None, wait_s=1.0, **more):
        alone = scheduler == "dedicated"
        ratios = {name: statistic(self.around(ratio)) if ratio else None
                  for name in ("mean_response_s", "mean_wait_s", "makespan_s")}
        measures = {"mean_response_s": response_s, "mean_wait_s": wait_s, "mean_stretch": response_s / 20,
                    "makespan_s": response_s * 1.5, "cpu_s": response_s * 2, "throughput_per_h": 3600 / response_s}
        measures = {name: statistic(self.around(size)) for name, size in measures.items()}
        measures["requests"] = statistic(self.around(40)) if scheduler.startswith("cosched") else None
        return {"workload": workload, "value": value, "mpi": mpi, "scheduler": scheduler, "alone": alone,
                "time_slice_s": 1.0, "gmet_s": 0.25, "runs": self.runs, "disturbed": 0, "unverified": 0,
                "measures": measures, "ratios": ratios, **more}

    def job(self, workload, value, mpi, scheduler, name, stretch):
        measures = {"response_s": stretch * 20, "stretch": stretch, "fair_stretch": stretch, "cpu_s": 10.0}
        return {"workload": workload, "value": value, "mpi": mpi, "scheduler": scheduler, "job": name,
                "measures": {key: statistic(self.around(size)) for key, size in measures.items()}}


def compared(make, mpis, cases):
    """Rows and jobs of (workload, value, response uncoordinated, gain): alone, uncoordinated and coscheduled."""
    rows, jobs = [], []
    for mpi in mpis:
        rows.append(make.row("cg.A.2*5", None, mpi, "dedicated", 5.0))
        for workload, value, response_s, gain in cases:
            rows.append(make.row(workload, value, mpi, "uncoordinated", response_s, 1.0))
            rows.append(make.row(workload, value, mpi, "cosched", response_s / gain, 1 / gain))
            for scheduler, stretch in (("uncoordinated", gain * 1.01), ("cosched", 1.01)):
                jobs += [make.job(workload, value, mpi, scheduler, job, stretch) for job in ("cg.A.2*5", "ep.A.2*2")]
    return rows, jobs


def experiment(rows, jobs=(), parameter=None, baseline="uncoordinated"):
    return {"parameter": parameter, "baseline": baseline, "rows": list(rows), "jobs": list(jobs)}


def workloads(make, mpis, gains=(1.3, 2.1, 1.0)):
    return experiment(*compared(make, mpis, [(f"workload-{place}", None, 30 + 8 * place, gain)
                                             for place, gain in enumerate(gains, 1)]))


def dom(make, mpis, gains=(3.0, 2.4, 1.8, 1.4)):
    return experiment(*compared(make, mpis, [("dom", degree, 20 * degree, gain)
                                             for degree, gain in zip((2, 3, 4, 5), gains)]),
                      parameter={"name": "degree", "label": "degree of multiprogramming", "unit": ""})


def batch(make, mpis):
    rows = []
    for mpi in mpis:
        rows.append(make.row("batch", None, mpi, "fcfs", 130, 1.0, wait_s=120))
        rows += [make.row("batch", degree, mpi, f"cosched@{size}", 130 * ratio, ratio, wait_s=120 * ratio,
                          ideals={"mean_wait_s": statistic(make.around(0.47))})
                 for degree, ratio in ((2, 0.5), (3, 0.55), (5, 0.7)) for size in ("500ms", "1s")]
    return experiment(rows, parameter={"name": "degree", "label": "degree of multiprogramming", "unit": ""},
                      baseline="fcfs")


def swept(make, mpis, name, label, values, shape):
    """gmet or slice: `shape(workload number, value)` times 30 s."""
    rows = []
    setting = {"slice": "time_slice_s"}.get(name, "gmet_s")
    for mpi in mpis:
        for place in (1, 2, 3):
            rows.append(make.row(f"workload-{place}", None, mpi, "uncoordinated", 62, 1.0))
            rows += [make.row(f"workload-{place}", value, mpi, "cosched", 30 * shape(place, value),
                              30 * shape(place, value) / 62, **{setting: value}) for value in values]
    return experiment(rows, parameter={"name": name, "label": label, "unit": "s"})


def mpl(make, mpis):
    """Three programs, of which SP loses something at degree 3."""
    rows = []
    for mpi in mpis:
        for kernel in ("bt", "lu", "sp"):
            rows += [make.row(f"mpl-{kernel}", degree, mpi, "cosched:gang", 24.0 if (kernel, degree) == ("sp", 3) else 19.0)
                     for degree in (2, 3, 4)]
    return experiment(rows, parameter={"name": "degree", "label": "degree of multiprogramming", "unit": ""})


def pairs(make, mpis):
    rows, jobs = [], []
    for mpi in mpis:
        for place, first in enumerate(KERNELS):
            for second in KERNELS[place:]:
                names = [f"{first}.A.2", f"{second}.A.2"]
                workload = " ".join(names)
                for scheduler, worst in (("uncoordinated", 2.9), ("cosched", 1.04)):
                    rows.append(make.row(workload, None, mpi, scheduler, 20.0, 1 / worst))
                    for name in dict.fromkeys(names):
                        size = 1 + (worst - 1) * make.rng.random()
                        jobs.append(make.job(workload, None, mpi, scheduler, name, size))
    return experiment(rows, jobs)


def gantt(jobs=2, nodes=2, duration_s=20.0, coscheduled=True):
    listed = [{"index": index, "job": f"cg.A.2*{index + 1}", "arrival_s": 0.0, "start_s": 0.1 * index,
               "end_s": duration_s - 0.5 * (index % 3)} for index in range(jobs)]
    if not coscheduled and jobs > 20:  # one after the other
        for job in listed:
            job["start_s"], job["end_s"] = (duration_s * (job["index"] + end) / jobs for end in (0, 0.97))
    spans = []
    if coscheduled:
        for second in range(int(duration_s)):
            spans += [{"node": node, "job": second % jobs, "from_s": second + 0.01 * node, "to_s": second + 0.99}
                      for node in range(nodes)]
    return {"nodes": nodes, "duration_s": duration_s, "jobs": listed, "spans": spans}


def complete(runs=5, mpis=("mpich", "openmpi")):
    """(summary, {path: gantt}) with every experiment that the report knows."""
    make = Maker(runs)
    charts, entries = {}, []
    for name, workload, value, schedulers, jobs in (
            ("workloads", "workload-2", None, ("uncoordinated", "cosched"), 8),
            ("batch", "batch", 2, ("fcfs", "cosched@1s"), 100)):
        for scheduler in schedulers:
            path = f"gantt/{name}-{workload}-mpich-{scheduler}.json"
            charts[path] = gantt(jobs, duration_s=60.0, coscheduled=scheduler.startswith("cosched"))
            entries.append({"experiment": name, "workload": workload, "mpi": "mpich", "scheduler": scheduler,
                            "value": None if scheduler == "fcfs" else value, "file": path})
    experiments = {
        "quick": experiment(*compared(make, mpis, [("quick", None, 20.0, 2.0)])),
        "workloads": workloads(make, mpis), "dom": dom(make, mpis), "batch": batch(make, mpis),
        "gmet": swept(make, mpis, "gmet", "GMET", (1 / 30, 2 / 30, 1 / 6, 1 / 3, 2 / 3),
                      lambda place, value: 1 + (place == 2) * 0.04 / value),
        "slice": swept(make, mpis, "slice", "time-slice", (0.25, 0.5, 1.0, 1.5, 2.0),
                       lambda place, value: 1 + (place < 3) * 0.2 * value),
        "pairs": pairs(make, mpis),
        "mixed": experiment(*compared(make, mpis, [("mixed cg", None, 30.0, 1.8), ("mixed lu", None, 30.0, 1.3)])),
        "mpl": mpl(make, mpis)}
    return {"format": 1, "complete": True, "experiments": experiments, "gantt": entries}, charts


def write(folder, summary, charts=None, environment=ENVIRONMENT):
    """The results folder."""
    os.makedirs(os.path.join(folder, "gantt"), exist_ok=True)
    files = {"summary.json": summary, **(charts or {})}
    if environment is not None:
        files["environment.json"] = environment
    for name, value in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)
    return folder
