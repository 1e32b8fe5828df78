"""summary.txt: what people see on a terminal. No system call in here."""

from columns import columns

from . import variants

HEADER = ("workload", "program", "mpi", "competitors", "variant", "runs", "response s", "/ ideal", "CPU s", "/ alone",
          "F", "coscheduled")
COMPANY = ("variant", "mpi", "latency / ideal", "barrier / ideal", "F", "of it fair", "near ideal", "coscheduled")
FAIR = 0.03  # by which F may be off 1, as doc/design/waiting.md has it
NEAR = 1.1  # times the ideal
FREE = 0.9  # of its CPUs, that a program has alone on a free machine, at least
DIGITS = {"response_s": 2, "slowdown": 2, "cpu_s": 2, "cpu_ratio": 2, "fairness": 3, "coscheduled": 2}


def _cell(row, name):
    found = row["measures"][name]
    if found is None:
        return "-"
    digits = DIGITS[name]
    text = f"{found['median']:.{digits}f}"
    if found["bootstrap"]:
        low, high = found["bootstrap"]
        text += f" ({low:.{digits}f}..{high:.{digits}f})"
    return text


def competitors(row):
    return "-" if not row["count"] else f"{row['count']} {row['competitors']}"


def body(summary):
    """The table's rows below HEADER."""
    for row in summary["rows"]:
        unverified = f", {row['unverified']} NOT VERIFIED" if row["unverified"] else ""
        yield (row["experiment"], row["program"], row["mpi"], competitors(row), row["variant"],
               f"{row['runs']}{unverified}", *(_cell(row, name) for name in DIGITS))


def _span(values):
    known = [value for value in values if value is not None]
    return f"{min(known):.2f} to {max(known):.2f}" if known else "-"


def _few(values, holds):
    """"9 of 12" of those that are known."""
    known = [value for value in values if value is not None]
    return f"{sum(map(holds, known))} of {len(known)}" if known else "-"


def company(summary):
    """The rows below COMPANY: of each variant under each MPI the least and the greatest of the medians over all kinds of company
    of Latency and Barrier, which is what competitors are and how many there are."""
    beside = [row for row in summary["rows"] if row["program"] in ("latency", "barrier") and row["count"]]

    def medians(rows, name):
        return [row["measures"][name]["median"] if row["measures"][name] else None for row in rows]

    for mpi in dict.fromkeys(row["mpi"] for row in beside):
        for variant in dict.fromkeys(row["variant"] for row in beside):
            rows = [row for row in beside if (row["mpi"], row["variant"]) == (mpi, variant)]
            if rows:
                yield (variant, mpi, *(_span(medians([row for row in rows if row["program"] == program], "slowdown"))
                                       for program in ("latency", "barrier")),
                       _span(medians(rows, "fairness")),
                       _few(medians(rows, "fairness"), lambda value: abs(value - 1) <= FAIR),
                       _few(medians(rows, "slowdown"), lambda value: value <= NEAR), _span(medians(rows, "coscheduled")))


COMPANY_WORDS = (f"From the least to the greatest of the medians over all kinds of company of Latency and Barrier. Fair: F within "
                 f"{1 - FAIR:g} and {1 + FAIR:g}; near: at most {NEAR:g} times ideal.")


def remarks(summary):
    """What readers must know of the session."""
    for name, wait in summary["waits"].items():
        wanted = variants.WAITS[variants.VARIANTS[name].wait][0]
        if wait != wanted:
            yield f"{name} ran with wait = {wait}, as this build has no {wanted}."
    if summary["unsound"]:
        yield (f"Beware: in {summary['unsound']} of {summary['runs']} runs a job did not verify (wrong numbers, or no end). "
               "They are in no figure.")
    if summary["disturbed"]:
        yield f"{summary['disturbed']} of {summary['runs']} runs were disturbed by something else on the machine."
    free = summary["alone_share"]
    if free and free["median"] < FREE:
        yield (f"Programs that were alone had {free['median']:.0%} of their CPUs: something else ran all the time. Do "
               "not trust these figures.")
    if not summary["complete"]:
        yield "Incomplete: not all runs were made."


def text(summary):
    lines = columns([HEADER, *body(summary)])
    lines += ["", "Medians; in brackets their 90 % bootstrap interval. ideal: perfect sharing. F: N x CPU time / "
              "response time.", *remarks(summary)]
    beside = list(company(summary))
    if beside:
        lines += ["", *columns([COMPANY, *beside]), "", COMPANY_WORDS]
    return "\n".join(lines) + "\n"
