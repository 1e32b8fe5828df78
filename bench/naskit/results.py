"""Records of runs, what follows from them, and how people see it. No system call in here."""

import statistics


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else None


def dedicated_times(records):
    """{(mpi, job): median response time of the job alone, without cosched}, of verified runs."""
    times = {}
    for record in records:
        if record["scheduler"] == "dedicated" and record["verified"]:
            times.setdefault((record["mpi"], record["job"]), []).append(record["response_s"])
    return {key: statistics.median(values) for key, values in times.items()}


def add_stretch(records, fair):
    """Fills in dedicated_s, stretch = response / (dedicated x degree) and fair_stretch = response /
    response under perfect sharing. `fair(mpi, mix, index, times)` is the latter, or None. Null where
    the job has no verified dedicated run."""
    times = dedicated_times(records)
    for record in records:
        dedicated_s = times.get((record["mpi"], record["job"]))
        record["dedicated_s"] = dedicated_s
        record["stretch"] = ratio(record["response_s"], dedicated_s, record["degree"])
        fair_s = fair(record["mpi"], record["mix"], record["index"], times)
        record["fair_stretch"] = ratio(record["response_s"], fair_s, 1)


def ratio(response_s, base_s, factor):
    return response_s / (base_s * factor) if base_s else None


def _groups(records, *keys):
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return groups


def _range(values, form):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    low, high = form % min(values), form % max(values)
    return form % statistics.median(values) + (f" ({low}-{high})" if len(values) > 1 else "")


def _columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def table(records, schedulers):
    """The tables for people: each job, then each scheduler."""
    order = {name: place for place, name in enumerate(schedulers)}

    def by_scheduler(item):
        return item[0][:-2] + (order[item[0][-2]],) + item[0][-1:]

    jobs = [("mix", "mpi", "scheduler", "job", "response s", "stretch", "fair stretch", "CPU s",
             "verified")]
    for (mix, mpi, scheduler, job), group in sorted(
            _groups(records, "mix", "mpi", "scheduler", "job").items(), key=by_scheduler):
        verified = sum(record["verified"] for record in group)
        hung = sum(record["hung_in_finalize"] for record in group)
        jobs.append((mix, mpi, scheduler, job,
                     _range([record["response_s"] for record in group], "%.2f"),
                     _range([record["stretch"] for record in group], "%.2f"),
                     _range([record["fair_stretch"] for record in group], "%.2f"),
                     "%.1f" % median([record["cpu_s"] for record in group]),
                     f"{verified}/{len(group)}" + (f", {hung} hung in finalize" if hung else "")))
    totals = [("mpi", "scheduler", "mean response s", "mean stretch", "worst stretch",
               "mean fair stretch")]
    for (mpi, scheduler), group in sorted(
            _groups(records, "mpi", "scheduler").items(), key=lambda i: (i[0][0], order[i[0][1]])):
        stretches = [record["stretch"] for record in group if record["stretch"] is not None]
        totals.append((mpi, scheduler, "%.2f" % mean([r["response_s"] for r in group]),
                       "%.3f" % mean(stretches) if stretches else "-",
                       "%.3f" % max(stretches) if stretches else "-",
                       "%.3f" % mean([r["fair_stretch"] for r in group]) if stretches else "-"))
    return "\n".join(_columns(jobs) + [""] + _columns(totals)) + "\n"
