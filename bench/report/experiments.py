"""The experiments that the report knows: what each asks and how it is shown. Others get tables only."""

import dataclasses

from . import names, numbers


@dataclasses.dataclass(frozen=True)
class Kind:
    """`shape`: how `measure` is drawn (bars, lines, matrix or table). `ratio`: the measure whose ratios tell the
    gain, with the verb and the words for it. `paired`: values of the parameter are compared by that ratio, as they may be
    of several sittings."""

    title: str
    question: str
    shape: str = "table"
    measure: str = "mean_response_s"
    ratio: str = "mean_response_s"
    verb: str = "responds"
    faster: str = "faster"
    slower: str = "slower"
    gains: bool = True  # whether the gain over the baseline is drawn
    limits: str = ""  # the measure that the parameter limits, and by which alone it can matter
    granted: str = ""  # the part of it that it lets pass
    paired: bool = False


KINDS = {
    "quick": Kind("A quick look", "Is coscheduling worth it on this machine?", "bars"),
    "jobs": Kind("Jobs chosen by hand", "How do these jobs share the nodes?", "bars"),
    "workloads": Kind("Three workloads", "How much depends on how much the jobs talk? Workload 2 sends most messages, "
                      "Workload 3 hardly any, Workload 1 is a mixture.", "bars"),
    "dom": Kind("More and more jobs", "What happens when more jobs share the nodes? The degree of multiprogramming is "
                "the number of jobs that share each node.", "lines"),
    "batch": Kind("Against a queue", "Many jobs are submitted at once. Do they wait less when some of them share the "
                  "nodes than in a queue, where each waits for all before it?", "bars", "mean_wait_s", "mean_wait_s",
                  "waits", "shorter", "longer"),
    "gmet": Kind("The guaranteed time", "A job that has been scheduled keeps the nodes for a guaranteed minimum "
                 "execution time (GMET) before a message for another job may displace it. How long should that be? The nodes' timers "
                 "are not aligned here, as the paper's were not: aligned, nodes switch together, and hardly a message asks for a "
                 "switch. So times are not those of the experiments above.",
                 "lines", gains=False, limits="requests", granted="granted", paired=True),
    "slice": Kind("The time-slice", "After each time-slice it is the next job's turn. How long should it be?", "lines",
                  gains=False, paired=True),
    "pairs": Kind("Every pair", "What does each program suffer from each other program beside it?", "matrix",
                  "mean_stretch", gains=False),
    "mixed": Kind("Parallel jobs beside CPU hogs", "What do parallel jobs suffer from sequential programs that only "
                  "compute, and what does coscheduling mend?", "bars", "mean_stretch"),
    "mpl": Kind("Several of one program", "What do instances of one program lose beside each other when the nodes switch by a "
                "common table? Their time is divided by that of one alone, with cosched there, and by their number: 1.00 is "
                "nothing lost, less is what the first to end have gained.", "lines", "mean_stretch", gains=False),
}


def kind(name):
    return KINDS.get(name) or Kind(f"Experiment {name}", "This report has no picture for this experiment.", gains=False)


def ordered(experiments):
    """Experiments in the order of the report."""
    known = [experiments[name] for name in KINDS if name in experiments]
    return known + [experiments[name] for name in sorted(experiments) if name not in KINDS]


def ours(experiment):
    """The scheduler that the sentences are about, or None: cosched, or else a variant of it."""
    found = [name for name in names.schedulers(row.scheduler for row in experiment.rows) if names.is_cosched(name)]
    return "cosched" if "cosched" in found else found[0] if found else None


def reference(experiment):
    """The scheduler whose jobs alone stretch is reckoned with: as bench/naskit/records.py has it."""
    found = {row.scheduler for row in experiment.rows}
    return "dedicated-cosched" if "dedicated" not in found and "dedicated-cosched" in found else "dedicated"


def shared(experiment):
    """Rows of jobs that share the nodes, not of jobs alone."""
    return [row for row in experiment.rows if not row.alone]


def is_fixed(experiment, row):
    """Whether the experiment's parameter means nothing to the row's scheduler."""
    return experiment.parameter is not None and row.value is None and not row.alone


def is_paired(experiment, kind):
    """Whether values of the parameter are compared by their ratios to the baseline: only what one sitting has measured is.
    By the measure itself where there is no baseline."""
    return kind.paired and any(row.ratios.get(kind.ratio) for row in experiment.rows
                               if row.scheduler != experiment.baseline)


def compared(experiment, kind, row):
    """The Statistic by which the row is compared with those of other values, or None."""
    return row.ratios.get(kind.ratio) if is_paired(experiment, kind) else row.measures.get(kind.measure)


def pair_measure(experiment):
    """Stretch, allowing for the earlier end of the other job where that is known."""
    return "fair_stretch" if any(job.measures.get("fair_stretch") for job in experiment.jobs) else "stretch"


def beside(experiment, job):
    """Names of the other jobs of the JobRow's workload, which a pair has for its name, also a hog's, of which there is no
    row; its own, where there are none."""
    pair = job.workload.split()
    if len(pair) == 2 and job.job in pair:
        return pair[pair.index(job.job) - 1]
    others = [other.job for other in experiment.jobs
              if (other.workload, other.value, other.mpi, other.scheduler)
              == (job.workload, job.value, job.mpi, job.scheduler) and other.job != job.job]
    return numbers.listing(others or [job.job])


def value_key(value):
    """Sorts values of a parameter: none, numbers, texts."""
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")


def cases(experiment):
    """The distinct (workload, value), in the order in which they are shown."""
    found = {(row.workload, row.value) for row in experiment.rows if not row.alone}
    return sorted(found, key=lambda case: (case[0], value_key(case[1])))


def value_label(experiment, value):
    """"degree 3", "GMET 0.25 s"; the bare value where the parameter has no name."""
    text = numbers.setting(value)
    parameter = experiment.parameter
    if parameter is None:
        return text
    name = {"degree of multiprogramming": "degree"}.get(parameter.label, parameter.label)
    return f"{name} {text}{' ' + parameter.unit if parameter.unit else ''}"


def case_label(experiment, case):
    """What tells this case from the experiment's others, in words."""
    workload, value = case
    found = cases(experiment)
    name = names.workload(workload.removeprefix(f"{experiment.name} "))  # "mixed cg+hog" of the experiment mixed
    several = len({other for other, _ in found}) > 1
    valued = value is not None
    # One workload for each value says nothing that the value does not.
    implied = len({other for other, _ in found}) == len({other for _, other in found}) == len(found)
    if valued and (not several or implied):
        return value_label(experiment, value)
    if valued:
        return f"{name}, {value_label(experiment, value)}"
    return name


def find(experiment, case, mpi, scheduler):
    """The row, or None."""
    for row in experiment.rows:
        if (row.workload, row.value, row.mpi, row.scheduler) == (*case, mpi, scheduler):
            return row
    return None


def subject(experiment, case, verb):
    """"Workload 2 responds", "at degree 3 the jobs respond", or "the jobs respond" of the one case that there can be."""
    plural = f"the jobs {verb.removesuffix('s')}"
    place = where(experiment, case)
    if place.startswith("for "):
        return f"{place.removeprefix('for ')} {verb}"
    return f"{place} {plural}".strip()


def where(experiment, case):
    """"for Workload 2", "at degree 3"; nothing where the experiment is one workload of the same name. What a session that was
    cut short has measured so far is named, though there is nothing yet to tell it from."""
    if case == (experiment.name, None):
        return ""
    return f"{'for' if case[1] is None else 'at'} {case_label(experiment, case)}"
