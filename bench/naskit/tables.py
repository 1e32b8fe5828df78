"""summary.txt: what people see on a terminal. No system call in here."""

from columns import columns


def _number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def _with_range(found, digits=2):
    """Median, and the t interval of the mean."""
    if found is None:
        return "-"
    text = _number(found["median"], digits)
    if found["t"]:
        low, high = found["t"]
        text += f" ({low:.{digits}f}..{high:.{digits}f})"
    return text


def _median(found, digits=2):
    return _number(found and found["median"], digits)


def _value(row, parameter):
    if row["value"] is None:
        return ""
    return f"{row['value']:g} {parameter['unit']}".strip() if parameter else f"{row['value']:g}"


def _jobs(experiment):
    rows = [("workload", "value", "mpi", "scheduler", "job", "response s", "stretch", "fair stretch",
             "CPU s")]
    for job in experiment["jobs"]:
        found = job["measures"]
        rows.append((job["workload"], _value(job, experiment["parameter"]), job["mpi"],
                     job["scheduler"], job["job"], _with_range(found["response_s"]),
                     _with_range(found["stretch"]), _with_range(found["fair_stretch"]),
                     _median(found["cpu_s"], 1)))
    return rows


def _totals(experiment):
    rows = [("workload", "value", "mpi", "scheduler", "runs", "mean response s", "mean stretch",
             "mean wait s", "makespan s", "fairness", "cosched.",
             f"response / {experiment['baseline']}", "hogs have", "verified")]
    for row in experiment["rows"]:
        if row["alone"]:
            continue
        found, ratios = row["measures"], row["ratios"]
        jobs = row["runs"] * row["jobs"]
        disturbed = f", {row['counted_disturbed']} disturbed" if row["counted_disturbed"] else ""
        hung = f", {row['hung_in_finalize']} hung in finalize" if row["hung_in_finalize"] else ""
        rows.append((row["workload"], _value(row, experiment["parameter"]), row["mpi"],
                     row["scheduler"], f"{row['runs']}{disturbed}",
                     _with_range(found["mean_response_s"]), _with_range(found["mean_stretch"]),
                     _with_range(found["mean_wait_s"]), _with_range(found["makespan_s"], 1),
                     _median(found["fairness"]), _median(found["coscheduled_fraction"]),
                     _with_range(ratios["mean_response_s"]), _median(found["hogs_part"], 3),
                     f"{jobs - row['unverified']}/{jobs}{hung}"))
    return rows if any(row["measures"]["hogs_part"] for row in experiment["rows"]) else _without(rows, "hogs have")


def _without(rows, name):
    place = rows[0].index(name)
    return [(*row[:place], *row[place + 1:]) for row in rows]


def text(summary):
    """The tables of all experiments: jobs, then each workload under each scheduler."""
    lines = []
    for name, experiment in summary["experiments"].items():
        lines += [f"{name}: {experiment['title']}", ""]
        for rows in (_jobs(experiment), _totals(experiment)):
            if len(rows) > 1:
                lines += columns(rows) + [""]
    lines.append("Medians; in brackets Student's 90 % interval of the mean. Disturbed: of these runs, those that were so each time."
                 + ("" if summary["complete"] else " INCOMPLETE: not all runs were made."))
    return "\n".join(lines) + "\n"
