"""One sentence per figure and MPI that says what is seen, made from the data alone."""

import dataclasses
import statistics

from . import compare, experiments, names, numbers


def paper_factor(facts, case, measure):
    """How many times faster the paper saw this case, or None."""
    for gain in (facts or {}).get("gains", []):
        if gain["measure"] == measure and gain.get("workload", case[0]) == case[0] \
                and gain.get("value", case[1]) == case[1]:
            return compare.from_less_pct(gain["less_pct"])
    return None


def _clause(experiment, case, kind, comparison, versus):
    place = experiments.where(experiment, case)
    place = f"{place} " if place else ""
    if comparison.kind == "missing":
        return f"{place}there is no comparison, since a run is missing or not verified"
    if comparison.kind == "unclear":
        return f"{place}no difference can be seen ({compare.span(comparison)} times {kind.faster})"
    versus = "" if comparison.kind == "equal" else versus
    return (f"{experiments.subject(experiment, case, kind.verb)} "
            f"{compare.phrase(comparison, kind.faster, kind.slower, versus)}")


def gains(experiment, kind, facts, mpi):
    """The gain of cosched over the baseline in every case, as one sentence, or None."""
    ours = experiments.ours(experiment)
    if ours is None or experiment.baseline is None or ours == experiment.baseline:
        return None
    clauses, versus = [], f" {names.scheduler(ours)} than {names.scheduler(experiment.baseline)}"
    for case in experiments.cases(experiment):
        row = experiments.find(experiment, case, mpi, ours)
        if row is None:
            continue
        comparison = compare.compare(row.ratios.get(kind.ratio))
        clause = _clause(experiment, case, kind, comparison, versus)
        if versus and versus in clause:
            versus = ""
        factor = paper_factor(facts, case, kind.ratio)
        clauses.append(clause + (f" (the paper saw {numbers.factors(factor)[0]} times)" if factor else ""))
    if not clauses:
        return None
    return f"Under {names.mpi(mpi)}, {'; '.join(clauses)}."


def degree_trend(experiment, kind, mpi):
    """Whether the gain, where there is one, shrinks from the lowest to the highest value of the parameter, or None."""
    ours = experiments.ours(experiment)
    found = []
    for case in experiments.cases(experiment):
        row = experiments.find(experiment, case, mpi, ours)
        comparison = compare.compare(row.ratios.get(kind.ratio)) if row else None
        if comparison and comparison.low is not None:
            found.append((case, comparison, row.ratios[kind.ratio]))
    if len(found) < 2:
        return None
    (first_case, first, first_ratio), (last_case, last, last_ratio) = found[0], found[-1]
    if "faster" not in (first.kind, last.kind):
        return None
    relation = compare.between(first_ratio, last_ratio)
    span = f"from {experiments.case_label(experiment, first_case)} to {experiments.case_label(experiment, last_case)}"
    before, after = numbers.factors(first.factor, last.factor)
    if relation == "higher":  # ratios are the inverse of gains
        return f"Under {names.mpi(mpi)}, the gain shrinks {span}: {before} times, then {after} times, as in the paper."
    if relation == "lower":
        return f"Under {names.mpi(mpi)}, the gain grows {span}, from {before} to {after} times, unlike in the paper."
    return f"Under {names.mpi(mpi)}, whether the gain changes {span} cannot be told ({before} and {after} times, " \
           "with intervals that overlap)."


def best_row(experiment, kind, mpi):
    """(row, Comparison) of the setting with most gain over the baseline, or None."""
    found = [(row, compare.compare(row.ratios.get(kind.ratio))) for row in experiment.rows
             if names.is_cosched(row.scheduler) and row.mpi == mpi]
    found = [pair for pair in found if pair[1].kind != "missing"]
    return max(found, key=lambda pair: pair[1].factor) if found else None


def best_wait(experiment, kind, facts, mpi):
    """The least wait among all settings against the queue, with what it costs in makespan, or None."""
    found = best_row(experiment, kind, mpi)
    if found is None:
        return None
    row, best = found
    label = f"{experiments.case_label(experiment, (row.workload, row.value))}, {names.scheduler(row.scheduler)}"
    text = f"Under {names.mpi(mpi)}, at best ({label}) {_best_clause(kind, best)}"
    makespan = compare.compare(row.ratios.get("makespan_s"))
    if makespan.kind != "missing":
        text += f"; the time until the last job ends is {compare.phrase(makespan, 'shorter', 'longer')}"
    ideal = row.ideals.get(kind.ratio)
    if ideal:
        ratio = row.ratios[kind.ratio].median
        text += (f". Had sharing cost these jobs nothing, their wait would be {numbers.plain(ideal.median)} times that in the queue; it is "
                 f"{numbers.plain(ratio)}")
        if ratio < ideal.median and makespan.kind != "missing" and row.ratios["makespan_s"].median < 1:
            text += ", as they took less of the nodes' time than in the queue"
    paper = (facts or {}).get("best_gain")
    return text + (f". The paper saw up to {paper['less_pct']} % less wait." if paper else ".")


def _best_clause(kind, best):
    if best.kind in ("unclear", "equal"):
        return f"no difference in the average wait can be seen ({compare.span(best)} times {kind.faster})"
    percent = compare.less_pct(best.factor)
    share = f"{abs(percent):.0f} % {'less' if percent >= 0 else 'more'}"
    said = compare.phrase(best, kind.faster, kind.slower, f" than in the queue ({share})")
    return f"the average job {kind.verb} {said}"


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a parameter does to one workload: (value, Statistic) at best and at worst, None where too few values are known;
    `relation` of compare.between; `counts`: how many runs, or pairs, each value has; of each value the median of what the
    parameter limits, and of what it let pass of that, as far as they are known."""

    workload: str
    best: tuple
    worst: tuple
    relation: str
    counts: tuple
    jobs: int
    limited: tuple = ()
    passed: tuple = ()

    @property
    def factor(self):
        """Worst ÷ best, or None."""
        return self.worst[1].median / self.best[1].median if self.best[1].median > 0 else None

    @property
    def is_untried(self):
        """Whether there was hardly anything to limit: mostly less than one for each job."""
        return bool(self.limited) and statistics.median(self.limited) < max(self.jobs, 1)


def effects(experiment, kind, mpi):
    """An Effect on our scheduler for each workload that was measured with two values or more; best and worst of those with
    intervals, where there are two."""
    ours, found = experiments.ours(experiment), []
    cases = [case for case in experiments.cases(experiment) if case[1] is not None]
    for workload in dict.fromkeys(workload for workload, _ in cases):
        rows = [row for case in cases if case[0] == workload and (row := experiments.find(experiment, case, mpi, ours))]
        told = [(row.value, experiments.compared(experiment, kind, row)) for row in rows]
        counts = tuple(statistic.n if statistic else 0 for _, statistic in told)
        points = [point for point in told if point[1]]
        certain = [point for point in points if compare.hull(point[1])]
        points = certain if len(certain) >= 2 else points
        tried = (counts, max((row.jobs for row in rows), default=0), _medians(rows, kind.limits), _medians(rows, kind.granted))
        if len(points) >= 2:
            best = min(points, key=lambda point: point[1].median)
            worst = max(points, key=lambda point: point[1].median)
            found.append(Effect(workload, best, worst, compare.between(best[1], worst[1]), *tried))
        elif len(rows) >= 2 and experiments.is_paired(experiment, kind):
            found.append(Effect(workload, None, None, None, *tried))
    return found


def _medians(rows, measure):
    """Of a measure at each value; () where one does not know it."""
    known = [row.measures.get(measure) for row in rows]
    return tuple(statistic.median for statistic in known) if all(known) else ()


def parameter_effect(experiment, kind, mpi):
    """What the parameter does to our scheduler's measure under each workload, as one sentence, or None."""
    clauses = [_effect(experiment, kind, effect) for effect in effects(experiment, kind, mpi)]
    by = (f", by the time over that of {names.scheduler(experiment.baseline)} in the same repetition and sitting"
          if experiments.is_paired(experiment, kind) else "")
    return f"Under {names.mpi(mpi)}{by}, {'; '.join(clauses)}." if clauses else None


def _effect(experiment, kind, effect):
    label, paired = names.workload(effect.workload), experiments.is_paired(experiment, kind)
    pairs = f"; {_counted(effect.counts, 'pair')} a value" if paired else ""
    if effect.is_untried:
        return (f"for {label} nothing can be said, since its jobs made hardly any requests ({_span(effect.limited)} in a run), and "
                "these are all that it limits")
    if effect.relation is None:
        single = f" (single pairs have no intervals{pairs})" if paired else ", since single runs have no intervals"
        return f"for {label} nothing can be said{single}"
    if effect.relation == "same":
        return f"for {label} no effect can be seen (the intervals of best and worst overlap{_passed(effect)}{pairs})"

    def point(value, statistic):
        unit = "" if paired else " s"
        return f"{experiments.value_label(experiment, value)} ({numbers.plain(statistic.median)}{unit}"
    times = f", {numbers.factors(effect.factor)[0]} times as long" if effect.factor else ""
    return (f"{label} {kind.verb} fastest with {point(*effect.best)}) and slowest with "
            f"{point(*effect.worst)}{times}{_passed(effect)}{pairs})")


def _span(values):
    low, high = f"{min(values):g}", f"{max(values):g}"
    return low if low == high else f"{low} to {high}"


def _passed(effect):
    """How much of what the parameter limits it let pass, from its lowest value to its highest."""
    if not effect.passed or not all(effect.limited):
        return ""
    shares = [f"{100 * passed / limited:.0f}" for passed, limited in zip(effect.passed, effect.limited)]
    return f"; of {_span(effect.limited)} requests in a run, from the lowest value to the highest, {', '.join(shares)} % were granted"


def _counted(counts, noun):
    """"2 pairs", "0 to 2 pairs"."""
    least, most = min(counts), max(counts)
    return numbers.count(most, noun) if least == most else f"{least} to {numbers.count(most, noun)}"


def pairs(experiment, mpi):
    """Middle and worst stretch of all jobs beside each other, per scheduler, or None."""
    clauses, measure = [], experiments.pair_measure(experiment)
    for scheduler in names.schedulers(job.scheduler for job in experiment.jobs):
        found = [job for job in experiment.jobs
                 if (job.mpi, job.scheduler) == (mpi, scheduler) and job.measures.get(measure)
                 and not scheduler.startswith("dedicated")]
        if found:
            worst = max(found, key=lambda job: job.measures[measure].median)
            middle = statistics.median(job.measures[measure].median for job in found)
            clauses.append(f"{numbers.plain(middle)} in the middle and "
                           f"{numbers.plain(worst.measures[measure].median)} at worst {names.scheduler(scheduler)} "
                           f"({worst.job} beside {experiments.beside(experiment, worst)})")
    return f"Under {names.mpi(mpi)}, stretch (1.00 is a fair share) is {'; '.join(clauses)}." if clauses else None


def crowded(experiment, kind, mpi):
    """Where our scheduler's measure is worst, and how many of all places are above 1 for certain, or None."""
    found = [(case, row.measures[kind.measure]) for case in experiments.cases(experiment)
             if (row := experiments.find(experiment, case, mpi, experiments.ours(experiment)))
             and row.measures.get(kind.measure)]
    if not found:
        return None
    case, worst = max(found, key=lambda pair: pair[1].median)
    interval = f" ({numbers.interval(compare.hull(worst))})" if worst.bootstrap else ""
    text = (f"Under {names.mpi(mpi)}, jobs at worst take {numbers.plain(worst.median)}{interval} times their time alone × their "
            f"number ({experiments.case_label(experiment, case)})")
    known = [statistic for _, statistic in found if statistic.bootstrap and statistic.t]
    if not known:
        return f"{text}."
    above = sum(statistic.bootstrap[0] > 1 and statistic.t[0] > 1 for statistic in known)
    return f"{text}; the intervals are above 1 in {above} of {numbers.count(len(known), 'place')}."


def _hung(experiment):
    """How often programs hung under each MPI and scheduler, in words; nothing where none did."""
    counts = {}
    for row in experiment.rows:
        of_mpi = counts.setdefault(row.mpi, {})
        of_mpi[row.scheduler] = of_mpi.get(row.scheduler, 0) + row.hung_in_finalize
    return numbers.listing(
        f"{names.mpi(mpi)} {names.scheduler(name)} {counts[mpi][name]}" for mpi in names.mpis(counts)
        for name in names.schedulers(counts[mpi]) if counts[mpi][name])


def quality(experiment):
    """What must be known before believing the figures: disturbed, unverified, hung or single runs; a list of sentences."""
    disturbed = sum(row.disturbed for row in experiment.rows)
    bad = [row for row in experiment.rows if row.unverified]
    said = []
    if disturbed:
        said.append(f"{numbers.count(disturbed, 'run')} of this experiment had to be repeated or marked, since "
                    "something else disturbed the machine.")
    counted = sum(row.counted_disturbed for row in experiment.rows)
    if counted:
        said.append(f"{counted} of the {sum(row.runs for row in experiment.rows)} runs that count were disturbed each time, and are in the figures all "
                    "the same.")
    if bad:
        where = numbers.listing(dict.fromkeys(
            f"{experiments.case_label(experiment, (row.workload, row.value))} {names.scheduler(row.scheduler)} under "
            f"{names.mpi(row.mpi)}" for row in bad[:3]))
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        jobs = numbers.count(sum(row.unverified for row in bad), "job")
        said.append(f"Beware: {jobs} of this experiment did not verify (wrong numbers, or no end): {where}{more}. "
                    "Their runs are in no figure and no ratio.")
    hung = _hung(experiment)
    if hung:
        said.append(f"Programs hung in MPI_Finalize after they had verified ({hung} times) and were ended; MPICH "
                    "over UCX is known for it. Their time ends with the last result; a job that waits in a queue for the nodes starts that much "
                    "later.")
    if experiment.rows and all(row.runs <= 1 for row in experiment.rows):
        said.append("Each figure comes from a single run, so it has no interval: differences may be chance.")
    return said


def of(experiment, kind, facts):
    """All sentences of an experiment's figures."""
    said = []
    for mpi in names.mpis(row.mpi for row in experiment.rows):
        if experiment.name == "batch":
            said.append(best_wait(experiment, kind, facts, mpi))
        elif experiment.name == "pairs":
            said.append(pairs(experiment, mpi))
        elif experiment.name == "mpl":
            said.append(crowded(experiment, kind, mpi))
        elif kind.shape == "lines" and not kind.gains:
            said.append(parameter_effect(experiment, kind, mpi))
        else:
            said.append(gains(experiment, kind, facts, mpi))
        if experiment.name == "dom":
            said.append(degree_trend(experiment, kind, mpi))
    return [sentence for sentence in said if sentence] or ["What is there allows no statement yet."]
