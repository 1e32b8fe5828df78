"""What each run says, repetition by repetition: `bench/run_report.sh DIR --repetitions`. A median of two or three does not say
how far they are apart, nor which of them."""

import argparse
import sys

from columns import columns
from guard import guarded

from . import NasError, experiments, noise, plan, records, store, summary, workload

STRETCHES = ("mean_stretch", "worst_stretch")
RATIOS = ("mean_response_s", "mean_wait_s", "makespan_s", "cpu_s")
HEADER = ("experiment", "workload", "value", "mpi", "scheduler", "response s", "stretch", "worst", "over", "response", "wait", "last end",
          "CPU time")
EXPLANATION = ("A figure for each run, in the order of the repetitions: means of its jobs and the worst one's stretch, and ratios to "
               "the run of the scheduler in column \"over\" of the same repetition and sitting. *: disturbed, and of all attempts "
               "the quietest.")


def base_of(experiment, schedulers):
    """The scheduler that ratios are to: the experiment's baseline or, where that was not run, another without cosched; None
    without any."""
    known = [experiment.baseline, "fcfs", "yield"]
    return next((name for name in known if name in schedulers), None)


def _cell(values):
    """Of [(value, whether the run was disturbed)]."""
    known = [f"{value:.2f}{'*' * disturbed}" if value is not None else "-" for value, disturbed in values]
    return ", ".join(known) if any(value is not None for value, _ in values) else "-"


def order(item):
    """A key to sort what is by summary.place_of()."""
    title, value, mpi, scheduler = item[0]
    return title, value is not None, value or 0, mpi, scheduler


def _rows(name, measured):
    """The rows of an experiment's [(run, measures)]."""
    schedulers = {run["scheduler"] for run, _ in measured}
    base, alone = base_of(experiments.TABLE.get(name, experiments.BY_HAND), schedulers), records.reference(schedulers)
    bases, groups = summary.by_repetition(measured, base), {}
    for run, found in summary.sound(measured):
        groups.setdefault(summary.place_of(run), []).append((run, found))
    for (title, value, mpi, scheduler), group in sorted(groups.items(), key=order):
        group.sort(key=lambda pair: (pair[0]["repetition"], records.sitting(pair[0])))
        shares = scheduler != alone  # or it is what stretch is reckoned with
        ratios = [[(summary.ratio(measure, found, summary.paired(run, bases)[1]), run["disturbed"]) for run, found in group]
                  for measure in RATIOS] if shares and scheduler != base else [[]] * len(RATIOS)
        own = [[(found[measure], run["disturbed"]) for run, found in group] if shares or measure not in STRETCHES else []
               for measure in ("mean_response_s", *STRETCHES)]
        yield (name, title, "" if value is None else f"{value:.3g}", mpi, scheduler, *map(_cell, own),
               "-" if not shares or scheduler == base or base is None else base, *map(_cell, ratios))


def rows(runs, cluster):
    """HEADER, and a row for each workload under each scheduler; `runs` are the lines of runs.jsonl, judged."""
    counted = records.valid(runs)
    records.add_stretch(counted, cluster)
    found = [HEADER]
    for name in dict.fromkeys(run["experiment"] for run in counted):
        found += _rows(name, [(run, records.measures(run, cluster.nodes)) for run in counted if run["experiment"] == name])
    return found


def read(folder):
    """The lines of runs.jsonl, judged, and the cluster on which they were run."""
    results = store.Store(folder)
    known = results.read_json("plan.json")
    plan.from_json(known, results.path("plan.json"))
    options = known["options"]
    runs = noise.judged(results.runs(), options["noise"])
    if not runs:
        raise NasError(f"{folder}: has no run yet")
    return runs, workload.Cluster(options["nodes"], options["cpus_per_node"])


def text(folder):
    return "\n".join([*columns(rows(*read(folder))), "", EXPLANATION])


def print_of_folder(option, description, text_of):
    """The command: prints what `text_of` says of the folder that it is given."""
    top = argparse.ArgumentParser(prog="run_report.sh", description=description)
    top.add_argument("results", metavar="RESULTS_DIR", help="that bench/run_nas.sh left")
    top.add_argument(option, action="store_true", required=True)
    try:
        print(text_of(top.parse_args().results))
    except NasError as error:
        sys.exit(f"run_report: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(lambda: print_of_folder("--repetitions", __doc__, text)))
