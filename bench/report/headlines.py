"""The few lines at the top: what each experiment found, both MPIs in one line. Made from the data alone."""

from . import compare, experiments, names, numbers, sentences


def of(experiment, kind, facts):
    """Lines of one experiment."""
    if experiment.name == "batch":
        return _batch(experiment, kind, facts)
    if experiment.name == "pairs":
        return _pairs(experiment)
    if experiment.name == "mpl":
        return [f"{kind.title}: {said[0].lower()}{said[1:]}" for mpi in _mpis(experiment)
                if (said := sentences.crowded(experiment, kind, mpi))]
    if kind.shape == "lines" and not kind.gains:
        return _sweep(experiment, kind, facts)
    return _gains(experiment, kind, facts)


def _mpis(experiment):
    return names.mpis(row.mpi for row in experiment.rows)


def _under(found, kind):
    """"X under MPICH, Y under Open MPI" of [(mpi, Comparison)]; said once where both are the same."""
    groups = {}
    for mpi, comparison in found:
        groups.setdefault(compare.phrase(comparison, kind.faster, kind.slower), []).append((names.mpi(mpi), comparison))
    return ", ".join(compare.phrase(group[0][1], kind.faster, kind.slower,
                                    f" under {numbers.listing(mpi for mpi, _ in group)}")
                     for group in groups.values())


def _each(found):
    """"X under MPICH, Y under Open MPI" of [(mpi, X)]; said once where both are the same."""
    groups = {}
    for mpi, text in found:
        groups.setdefault(text, []).append(names.mpi(mpi))
    return ", ".join(f"{text} under {numbers.listing(mpis)}" for text, mpis in groups.items())


def _gains(experiment, kind, facts):
    ours, lines = experiments.ours(experiment), []
    if ours is None or experiment.baseline is None:
        return []
    for which, case in _telling(experiment, kind, facts, ours):
        found = []
        for mpi in _mpis(experiment):
            row = experiments.find(experiment, case, mpi, ours)
            comparison = compare.compare(row.ratios.get(kind.ratio) if row else None)
            if comparison.kind != "missing":
                found.append((mpi, comparison))
        if found:
            paper = _claim(facts, case)
            subject = experiments.subject(experiment, case, kind.verb)
            lines.append(f"{kind.title}: {names.scheduler(ours)} instead of {names.scheduler(experiment.baseline)}, "
                         f"{which}{subject} {_under(found, kind)}." + (f" The paper saw: {paper}." if paper else ""))
    return lines


def _claim(facts, case):
    for claim in (facts or {}).get("claims", []):
        if claim.get("workload", case[0]) == case[0] and claim.get("value", case[1]) == case[1]:
            return claim["says"]
    return None


def _telling(experiment, kind, facts, ours):
    """[(words that say which it is, case)]: those of which the paper says something, or else those with most and least gain."""
    cases = experiments.cases(experiment)
    told = [case for case in cases if _claim(facts, case)]
    if told:
        return [("", case) for case in told]
    factors = {case: found for case in cases if (found := _factors(experiment, kind, case, ours))}
    if len(factors) < 2:
        return [("", case) for case in factors]
    best = max(factors, key=lambda case: max(factors[case]))
    worst = min((case for case in factors if case != best), key=lambda case: min(factors[case]))
    return [("at best ", best), ("at worst ", worst)]


def _factors(experiment, kind, case, ours):
    """How many times faster, under each MPI of which that is known."""
    rows = [experiments.find(experiment, case, mpi, ours) for mpi in _mpis(experiment)]
    found = [compare.compare(row.ratios.get(kind.ratio)).factor for row in rows if row]
    return [factor for factor in found if factor is not None]


def _batch(experiment, kind, facts):
    found = []
    for mpi in _mpis(experiment):
        best = sentences.best_row(experiment, kind, mpi)
        if best:
            found.append((mpi, best[1]))
    paper = (facts or {}).get("best_gain")
    says = (f" The paper saw: up to {numbers.factors(compare.from_less_pct(paper['less_pct']))[0]} times {kind.faster} "
            f"({paper['less_pct']} % less).") if paper else ""
    if not found:
        return []
    return [f"{kind.title}: compared with the queue, the average job at best waits {_under(found, kind)}.{says}"]


def _pairs(experiment):
    measure, found = experiments.pair_measure(experiment), []
    for mpi in _mpis(experiment):
        worst = []
        for scheduler in names.schedulers(job.scheduler for job in experiment.jobs):
            values = [job.measures[measure].median for job in experiment.jobs if job.measures.get(measure)
                      and (job.mpi, job.scheduler) == (mpi, scheduler) and not scheduler.startswith("dedicated")]
            if values:
                worst.append(f"{numbers.plain(max(values))} {names.scheduler(scheduler)}")
        if worst:
            found.append((mpi, numbers.listing(worst)))
    return [f"Every pair: at worst a job takes this many times its fair share: {_each(found)}."] if found else []


def _sweep(experiment, kind, facts):
    """The workload that depends most on the parameter."""
    found = []
    for mpi in _mpis(experiment):
        every = sentences.effects(experiment, kind, mpi)
        effects = [effect for effect in every if effect.relation and not effect.is_untried]
        clear = [effect for effect in effects if effect.relation == "higher" and effect.factor]
        if clear:
            most = max(clear, key=lambda effect: effect.factor)
            found.append((mpi, f"matters most for {names.workload(most.workload)} ({numbers.factors(most.factor)[0]} "
                               f"times as long with {experiments.value_label(experiment, most.worst[0])} as with "
                               f"{experiments.value_label(experiment, most.best[0])})"))
        elif effects:
            known = numbers.listing(names.workload(effect.workload) for effect in effects)
            found.append((mpi, "makes no difference that can be seen" + (f" for {known}" if len(effects) < len(every) else "")))
        elif any(effect.is_untried for effect in every):
            found.append((mpi, "had next to nothing to limit"))
        elif every:
            found.append((mpi, "was measured too rarely to say anything"))
    paper = f" The paper saw: {facts['says']}." if facts else ""
    return [f"{kind.title}: it {_each(found)}.{paper}"] if found else []
