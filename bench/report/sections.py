"""The report as blocks, from results and the facts of the paper. Pure."""

from . import experiments, figures, gantts, headlines, names, numbers, sentences, tables
from .blocks import Details, Heading, Items, Key, Paragraph, Table
from .draw import gantt

WORDS = (
    ("response time", "seconds from a job's arrival to its end"),
    ("wait", "seconds from a job's arrival to its start"),
    ("stretch", "response time ÷ (time alone × number of jobs that share): 1.00 is a perfect share, 2.00 means that "
                "half of the time was wasted; less than 1 where other jobs end earlier and leave the nodes, or come later. Fair stretch "
                "divides by what the job would have taken with an equal part of the nodes among those that were there at each moment"),
    ("time-slice", "how long one job keeps the nodes before it is the next one's turn"),
    ("GMET", "guaranteed minimum execution time: how long a job that was just scheduled cannot be displaced"),
    ("degree", "degree of multiprogramming: how many jobs share each node"),
    ("interval", "where the true value lies with 90 % confidence. There are two: of the median, by bootstrap, and of the mean, "
                 "by Student's t. Brackets in sentences and lines in figures of gains are both together, and a difference is "
                 "claimed only where both exclude that there is none. Lines on bars and curves are the median's alone: of two, three "
                 "or four runs these are from the least to the greatest, and hold the true median in 50, 75 or 88 % of all cases only"),
    ("n, runs", "how many runs a figure comes from, and how many there were: those with a job that did not verify are in no figure, "
                "and those whose counterpart is of another day (sitting) are in no ratio and no stretch"),
    ("fairness F", "the job's part of the CPUs over its due part, of the job that is worst off: 1 is an equal share; above 1 mostly beside "
                   "hogs, which have no F"),
    ("fraction of time coscheduled", "of the time that a job held any of its nodes and had to share them, the part that it "
                                     "held all of them"),
    ("requests", "messages of a job's other nodes that asked for the CPUs here; made falsely where no other node had the job "
                 "scheduled just then"),
)

SLOW_PAGE_US = 5  # a fault and a cleared page; above it starting jobs took twice the CPU time in doc/results


def report(results, charts, rosters, paper):
    """All blocks. `charts` are lists of (GanttEntry, Gantt) that are drawn together; `rosters` of (GanttEntry, its
    GanttJobs) say which jobs a workload has."""
    found = experiments.ordered(results.experiments)
    blocks = [Heading(1, "Coscheduling, measured"), Paragraph(_lead(results, found, paper), "lead")]
    blocks += _warnings(results, found)
    blocks += [Paragraph(f"{experiments.kind(name).title}: {text}", "warning") for name, text in results.remarks.items()]
    if any(experiment.rows for experiment in found):
        blocks += [Heading(2, "In short"), *_short(found, paper), *_key(found, charts)]
    for experiment in found:
        blocks += _experiment(experiment, paper, results.remarks.get(experiment.name))
        own = [group for group in charts if group and group[0][0].experiment == experiment.name]
        blocks += [block for place, group in enumerate(own, 1) for block in _gantt(group, place)]
    return [*blocks, *_stretch(found), *_workloads(found, rosters, paper), *_method(results, found, paper)]


def _machine(results):
    options = (results.environment or {}).get("options")
    options = options if isinstance(options, dict) else {}
    nodes, cpus = options.get("nodes"), options.get("cpus_per_node")
    if options.get("hosts"):
        return "a cluster"
    if not isinstance(nodes, int) or not isinstance(cpus, int):
        return "a small cluster"
    return f"a virtual cluster of {nodes} nodes with {cpus} CPU{'s' if cpus != 1 else ''} each"


def _lead(results, found, paper):
    mpis = names.mpis(row.mpi for experiment in found for row in experiment.rows)
    what = "the libraries" if len(mpis) > 1 else "the library"
    talk = f" with {numbers.listing(map(names.mpi, mpis))}, {what} through which they talk," if mpis else ""
    return ("A parallel program runs as many processes on several computers (nodes) at once, and these keep waiting "
            "for each other's messages. When several such programs (jobs) share the nodes and each node decides by "
            "itself whose turn it is, a process often waits for a partner that is not running just then, and time is "
            "lost. Coscheduling lets all processes of one job run at the same moment. This report shows what that is "
            f"worth: the same jobs, standard test programs of scientific computing (the NAS benchmarks){talk} were "
            f"run on {_machine(results)} in different ways, and timed. {_relation(found, paper)}")


def _relation(found, paper):
    """To the paper, in a sentence."""
    if not any(experiment.name in paper["experiments"] for experiment in found):
        return "A. B. Yoo and M. A. Jette proposed this kind of coscheduling in 2001."
    return ("Beside each result stands what A. B. Yoo and M. A. Jette, who proposed this kind of coscheduling, "
            "published in 2001; their experiments are repeated here on a smaller scale, so ratios can be compared, and "
            "seconds cannot.")


def _warnings(results, found):
    warnings = []
    if not any(experiment.rows for experiment in found):
        warnings.append("Nothing has been measured yet: there is nothing to show.")
    if not results.complete:
        warnings.append("The session is incomplete: it was interrupted or still runs. Figures show what there is so "
                        "far; bench/run_nas.sh --resume goes on with it.")
    if any(row.unverified for experiment in found for row in experiment.rows):
        warnings.append("Some jobs did not verify: see the warnings below and the table of runs at the end.")
    differing = _differing(results.environment or {})
    if differing:
        sittings = len(_states(results.environment, "git_commit")) or len(_states(results.environment, "kernel"))
        warnings.append(f"This session had {numbers.count(sittings, 'sitting')}, not all with the same {numbers.listing(differing)} "
                        "(listed at the end). Ratios and stretch are of runs of one sitting; seconds may be of several.")
    lacking = _lacking(results.environment or {})
    if lacking:
        warnings.append(lacking)
    pages_us = [took for took in _states(results.environment or {}, "page_us") if isinstance(took, (int, float))]
    slow = sum(took > SLOW_PAGE_US for took in pages_us)
    if slow:
        where = f", in {slow} of the {len(pages_us)} sittings that looked" if len(pages_us) > 1 else ""
        warnings.append(f"Memory was slow to come by{where}: the first touch of a page took up to {max(pages_us):.0f} microseconds. "
                        "Jobs that start or grow pay for that; short ones, and makespans of many, say little there.")
    return [Paragraph(text, "warning") for text in warnings]


def _lacking(environment):
    """Where the virtual nodes have fewer CPUs than they are told to have, in words."""
    options = environment.get("options")
    options = options if isinstance(options, dict) else {}
    counts = [options.get("nodes"), options.get("cpus_per_node"), environment.get("cpus")]
    if options.get("hosts") or not all(isinstance(count, int) for count in counts) or counts[0] * counts[1] <= counts[2]:
        return None
    return (f"The nodes are to have {counts[0] * counts[1]} CPUs together, and the machine had {counts[2]} for them: nodes shared "
            "CPUs, so times, degrees and stretch are not those of such a cluster.")


def _states(environment, key):
    """What the sittings of a session have recorded there."""
    resumed = environment.get("resumed")
    states = [environment, *(state for state in (resumed if isinstance(resumed, list) else []) if isinstance(state, dict))]
    return [state[key] for state in states if key in state]


def _differing(environment):
    """What was not the same in all sittings of a session, in words."""
    return [word for word, key in (("commit", "git_commit"), ("build", "build"), ("MPI", "mpi"), ("kernel", "kernel"), ("CPU", "cpu"))
            if len(set(map(str, _states(environment, key)))) > 1]


def _short(found, paper):
    said = [line for experiment in found if experiment.name in experiments.KINDS
            for line in headlines.of(experiment, experiments.kind(experiment.name), _facts(paper, experiment))]
    return [Items(tuple(said))] if said else [Paragraph("What is there allows no comparison yet.")]


def colours(found, charts):
    """{scheduler: colour} of all that the report shows."""
    used = [entry.scheduler for group in charts for entry, _ in group]
    for experiment in found:
        used += [row.scheduler for row in (*experiment.rows, *experiment.jobs)]
    return names.colours(used)


def _key(found, charts):
    known = colours(found, charts)
    entries = tuple((known[name], names.scheduler(name), names.explanation(name)) for name in names.schedulers(known))
    return [Heading(2, "How to read it"), Key(entries),
            Details("The words", (Table(("word", "meaning"), WORDS, words=2),))]


def _facts(paper, experiment):
    return paper["experiments"].get(experiment.name) or paper["others"].get(experiment.name)


def _settings(experiment):
    """The times that all rows of ours share, in words."""
    rows = [row for row in experiment.rows if names.is_cosched(row.scheduler)]
    said = []
    for label, name in (("time-slice", "time_slice_s"), ("GMET", "gmet_s")):
        values = {getattr(row, name) for row in rows}
        if len(values) == 1 and None not in values:
            said.append(f"{label} {values.pop():.3g} s")
    return ", ".join(said)


def _experiment(experiment, paper, remark):
    kind, facts = experiments.kind(experiment.name), _facts(paper, experiment)
    title = f"{kind.title} ({facts['figure']})" if facts else kind.title
    settings = _settings(experiment)
    question = kind.question
    if experiment.name not in experiments.KINDS and experiment.title:
        question = f"{experiment.title[0].upper()}{experiment.title[1:]}. {question}"
    blocks = [Heading(2, title), Paragraph(question + (f" Here: {settings}." if settings else ""))]
    blocks += [Paragraph(remark, "warning")] if remark else []
    if not experiment.rows:
        return [*blocks, Paragraph("Nothing of this experiment has been measured.", "warning")]
    if experiment.name in experiments.KINDS:
        blocks += [Paragraph(sentence, "seen") for sentence in sentences.of(experiment, kind, facts)]
    if facts:
        where = f"{facts.get('machine', paper['machine'])}; {facts['settings']}"
        blocks.append(Paragraph(f"{facts.get('who', 'The paper')} ({where}): {facts['says']}.", "paper"))
    blocks += [Paragraph(sentence, "warning") for sentence in sentences.quality(experiment)]
    blocks += figures.of(experiment, kind, facts)
    over_pairs = tables.of_pairs(experiment) if experiment.name == "pairs" else None
    if over_pairs:
        blocks += [Paragraph("Over all pairs, fair stretch, the mean of both jobs:"), over_pairs]
    if experiment.name not in experiments.KINDS:
        blocks.append(tables.of_all(experiment))
    else:
        blocks.append(Details("All measures of this experiment", (
            Paragraph("Median, below it b: its interval by bootstrap, t: Student's interval of the mean; both 90 %.",
                      "note"), tables.of_all(experiment))))
    # Where they are paired, that table is the figure's.
    if not kind.gains and not kind.paired and any(row.ratios.get(kind.ratio) for row in experiment.rows):
        blocks.append(Details("Ratios of this experiment", (tables.of_ratios(experiment, kind),)))
    if experiment.jobs:
        blocks.append(Details("Each job of this experiment", (tables.of_jobs(experiment),)))
    return blocks


def _gantt(group, place):
    figure = gantts.figure(group, place)
    if figure is None:
        return []
    text = ("Of each scheduler the run of the first repetition. Each job has a row, and in it a strip for each node: filled where the node let "
            "the job run. Coscheduled well, the strips of a job lie exactly above each other.")
    if any(not chart.spans for _, chart in group):
        text += (" Without cosched's daemons nobody records who runs when; such jobs are drawn from their start to "
                 "their end.")
    if any(gantt.is_unrecorded(job, chart) for _, chart in group for job in chart.jobs):
        text += " A hog has a frame only: when it has its turns is not recorded."
    return [Heading(3, "One run, second by second"), Paragraph(text), figure]


def _stretch(found):
    table = tables.stretch_overview(found)
    if table is None:
        return []
    return [Heading(2, "Stretch of all jobs"),
            Paragraph("Response time ÷ (time alone × number of jobs that share). 1.00 is a perfect share; less is what a job "
                      "gains when others end earlier and leave it the nodes, or a run alone that was slower than this one. "
                      "The jobs are those of all experiments, each with the median of its runs."), table]


def _workloads(found, rosters, paper):
    """Tables 2 and 3 of the paper, and what takes their place here; then our other workloads."""
    ours = {}
    for experiment in found:
        for job in experiment.jobs:
            if job.workload != job.job and experiment.name != "pairs":
                ours.setdefault((experiment.name, job.workload, job.value), {})[job.job] = 1
    ours.update(((entry.experiment, entry.workload, entry.value), _counts(jobs)) for entry, jobs in rosters)
    rows = []
    for table, name in (("Table 2", "workloads"), ("Table 3", "dom")):
        if name not in {experiment.name for experiment in found}:
            continue
        for key, jobs in paper["tables"][table].items():
            case = next((case for case in ours if case[0] == name and key in (case[1], numbers.setting(case[2]))), None)
            label = f"{names.workload(key) if name == 'workloads' else 'degree ' + key} ({table})"
            rows.append((label, jobs, listing(ours.pop(case)) if case else numbers.ABSENT))
    for (name, workload, value), jobs in ours.items():
        same = all(jobs == other for case, other in ours.items() if case[:2] == (name, workload))
        label = f"{workload}{f', {numbers.setting(value)}' if value is not None and not same else ''}"
        row = (f"{experiments.kind(name).title}: {label}", numbers.ABSENT, listing(jobs))
        if name not in ("gmet", "slice") and row not in rows:  # they have the workloads of Table 2
            rows.append(row)
    if not rows:
        return []
    hogs = " hog.2 is a process on each of two nodes that does nothing but compute." if any("hog." in row[2] for row in rows) else ""
    return [Heading(2, "The jobs"),
            Paragraph("The jobs, beside those of the paper's workloads (Tables 2 and 3) whose place they take. "
                      "cg.A.2*5 is program CG, size A, on 2 processes, 5 times in succession; (2) means two such "
                      f"jobs.{hogs}"),
            Table(("workload", "jobs of the paper", "jobs here"), tuple(rows), words=3)]


def _counts(jobs):
    """{name: count} of GanttJobs."""
    found = {}
    for job in jobs:
        found[job.job] = found.get(job.job, 0) + 1
    return found


def listing(counts):
    """"cg.A.2*5 (2), ep.A.2"."""
    return ", ".join(f"{job} ({count})" if count > 1 else job for job, count in counts.items())


def _method(results, found, paper):
    missing = [f"{facts['figure']} (bench/run_nas.sh {name})" for name, facts in paper["experiments"].items()
               if name not in results.experiments]
    blocks = [Heading(2, "How it was measured"), Paragraph(
        "Schedulers took turns within each repetition, in random order. A run during which something else disturbed "
        "the machine was repeated, and is counted as disturbed; whether it was is told by a fixed piece of work before, "
        "during and after it, never by the times of the jobs. Of a run's attempts the last undisturbed one counts, or else "
        "the quietest. A job verifies when its numbers are right and it ended by itself. Ratios compare runs of the same "
        "repetition.")]
    if missing:
        blocks.append(Paragraph(f"Not part of this session: {', '.join(missing)}.", "note"))
    if found:
        blocks += [tables.quality(found),
                   Paragraph("The same by scheduler. Were one disturbed much more often than the others, it would slow down that piece of "
                             "work itself, and its figures would be those of the runs in which it did so least.", "note"),
                   tables.quality_of_schedulers(found)]
    if results.environment is None:
        blocks.append(Paragraph("environment.json is missing: where these figures come from is not known.", "warning"))
    else:
        rows = tuple(tables.flattened(results.environment))
        blocks.append(Details("The machine and the options", (Table(("what", "value"), rows, words=2),)))
    blocks.append(Paragraph(f"The paper: {paper['source']}. {paper['note']}", "note"))
    blocks += [Paragraph(f"{facts['who']}: {facts['source']}.", "note") for name, facts in paper["others"].items()
               if name in results.experiments]
    return blocks
