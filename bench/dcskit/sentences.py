"""One sentence on each figure, made from the data alone: who comes before whom is claimed where neither their 90 %
intervals of the median overlap nor Student's of the mean, as the former of two or three runs are too narrow. No system
call in here."""

from report import names, numbers

from . import figures, plan, tables

VERDICTS = (("yes", "as in the paper"), ("no", "unlike in the paper, not"), ("unclear", "not told apart:"))


def _name(variant):
    """As the paper writes them, since there are commas in its names."""
    return f"⟨{names.scheduler(variant)}⟩"


def most_crowded(rows):
    """{(mpi, competitors): rows with the most competitors}: where the paper's differences are largest."""
    found = {}
    for row in rows:
        if row["count"]:
            most = found.setdefault((row["mpi"], row["competitors"], row["program"]), [])
            if most and most[0]["count"] < row["count"]:
                most.clear()
            if not most or most[0]["count"] == row["count"]:
                most.append(row)
    return found


def compare(faster, slower):
    """"yes", "no" or "unclear": whether the first statistic lies below the second."""
    if faster is None or slower is None:
        return None
    verdicts = {_apart(faster[kind], slower[kind]) for kind in ("bootstrap", "t")}
    return verdicts.pop() if len(verdicts) == 1 else "unclear"


def _apart(low, high):
    """The same of two intervals; of one run there is none."""
    if low is None or high is None:
        return "unclear"
    return "yes" if low[1] < high[0] else "no" if low[0] > high[1] else "unclear"


def _where(row):
    return (f"{names.mpi(row['mpi'])}, {numbers.count(row['count'], 'competitor')} on each node "
            f"({figures.KINDS[row['competitors']]})")


def _pairs(order, by_variant, measure):
    """{"yes": [...], "no": [...], "unclear": [...]} of "A before B"."""
    found = {"yes": [], "no": [], "unclear": []}
    for first, second in order:
        if first in by_variant and second in by_variant:
            verdict = compare(by_variant[first]["measures"][measure], by_variant[second]["measures"][measure])
            if verdict:
                found[verdict].append(f"{_name(first)} before {_name(second)}")
    return found


def _slowdowns(rows):
    known = [row for row in rows if row["measures"]["slowdown"]]
    known.sort(key=lambda row: row["measures"]["slowdown"]["median"])
    return numbers.listing(f"{_name(row['variant'])} {row['measures']['slowdown']['median']:.2f}"
                           for row in known)


def _order(rows, paper):
    parts = []
    for group in most_crowded(rows).values():
        text = f"{_where(group[0])}: times ideal, {_slowdowns(group)}"
        verdicts = _pairs(paper["order"], {row["variant"]: row for row in group}, "slowdown")
        text += "".join(f"; {label} {numbers.listing(verdicts[verdict])}" for verdict, label in VERDICTS
                        if verdicts[verdict])
        parts.append(text)
    return ". ".join(parts)


def _range(values):
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _fairness(rows):
    """Which variants keep F within the margin, and how far off the others get."""
    by_variant = {}
    for row in rows:
        if row["measures"]["fairness"] and (row["count"] or row["count"] is None):
            by_variant.setdefault(row["variant"], []).append(row["measures"]["fairness"]["median"])
    fair = [name for name, values in by_variant.items() if all(abs(value - 1) <= tables.FAIR for value in values)]
    parts = []
    if fair:
        parts.append(f"within {1 - tables.FAIR:.2f} and {1 + tables.FAIR:.2f} throughout: "
                     + numbers.listing(_name(name) for name in fair))
    others = [f"{_name(name)} {_range(values)}" for name, values in by_variant.items() if name not in fair]
    if others:
        parts.append(("F of the others: " if fair else "F: ") + numbers.listing(others))
    return "; ".join(parts)


def _batch(rows):
    """"; all programs, times in succession: ..." of the rows of one MPI."""
    parts = [f"{_name(row['variant'])} {row['over_batch']['median']:.2f}"
             for row in rows if row["over_batch"] and row["variant"] != plan.ALONE]
    return f"; until the last program ended, times one after the other: {numbers.listing(parts)}" if parts else ""


def _mixed(rows):
    parts = []
    for mpi in figures.mpis(rows):
        of_mpi = figures.chosen(rows, mpi=mpi, program="sor")
        known = [row for row in of_mpi if row["variant"] != plan.ALONE and row["measures"]["cpu_ratio"]]
        if known:
            parts.append(f"{names.mpi(mpi)}: SOR's CPU time, times that alone: " + numbers.listing(
                f"{_name(row['variant'])} {row['measures']['cpu_ratio']['median']:.2f}" for row in known)
                         + _batch(of_mpi))
    return ". ".join(parts)


def _never_verified(rows):
    """A variant that hung or was wrong in every run is the worst of all, and in no figure."""
    never = dict.fromkeys(row["variant"] for row in rows if row["unverified"] and row["measures"]["response_s"] is None)
    return f". No run verified: {numbers.listing(map(_name, never))}" if never else ""


def of(number, rows, paper):
    """What is seen in a figure, or that nothing is."""
    if number in (3, 4):
        text = _order(rows, paper)
    elif number == 7:
        text = _mixed(rows)
    elif number == 6:
        text = _fairness(rows)
    else:
        text = ". ".join(f"{figures.PROGRAMS[name]}: {said}" for name in figures.PROGRAMS
                         for said in [_fairness(figures.chosen(rows, program=name))] if said)
    return f"{text or 'There is nothing to compare yet'}{_never_verified(rows)}."
