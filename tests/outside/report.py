"""What a campaign found, as text: counts, differences, and what was left out."""

from collections import Counter, defaultdict

from judge import GOOD, PASSED, VERDICTS

REAL, FLAKY = "real", "flaky"


class Results:
    """All runs so far, in the order in which they were made."""

    def __init__(self, records=()):
        self.runs = defaultdict(list)  # (test's name, variant): [record, ...]
        for record in records:
            self.add(record)

    def add(self, record):
        self.runs[record["test"], record["variant"]].append(record)

    def attempts(self, name, variant):
        return self.runs.get((name, variant), [])

    def first(self, name, variant):
        """The first verdict, or None when there is no run."""
        runs = self.attempts(name, variant)
        return runs[0]["verdict"] if runs else None

    def good(self, name, variant):
        """(runs that went well, runs)"""
        runs = self.attempts(name, variant)
        return sum(run["verdict"] in GOOD for run in runs), len(runs)

    def differs(self, name, variants):
        """True when some run went well and some other did not."""
        verdicts = [run["verdict"] in GOOD for v in variants for run in self.attempts(name, v)]
        return any(verdicts) and not all(verdicts)

    def kind(self, name, variants):
        """REAL when some variants go well every time and the others never do; else FLAKY."""
        rates = [self.good(name, variant) for variant in variants]  # (0, 0) if not run
        return REAL if all(good in (0, runs) for good, runs in rates) else FLAKY


def table(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [str(cell).ljust(width) for cell, width in zip(row, widths)]
        yield "| " + " | ".join(cells) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def counts(results, names, variant):
    count = Counter(results.first(name, variant) for name in names)
    return " / ".join(str(count[verdict]) for verdict in VERDICTS)


def per_folder(results, tests, variants):
    folders = defaultdict(list)
    for test in tests:
        folders[test.folder].append(test.name)
    rows = [["folder", "tests", *variants]]
    for folder, names in folders.items():
        rows.append([folder, len(names), *[counts(results, names, v) for v in variants]])
    everything = [test.name for test in tests]
    rows.append(["all", len(everything), *[counts(results, everything, v) for v in variants]])
    yield from table(rows)


def last_words(results, name, variants):
    """Why the last bad run of each variant was bad."""
    for variant in variants:
        bad = [run for run in results.attempts(name, variant) if run["verdict"] not in GOOD]
        if bad:
            yield f"    {variant}: {bad[-1]['reason']}"


def compose(title, results, tests, skipped, variants):
    """The report's lines. `tests` are those that have been run, `skipped` pairs (test, reason)."""
    names = [test.name for test in tests]
    yield f"# {title}"
    yield ""
    yield f"First run of each test: {' / '.join(VERDICTS)} (hung: passed, then did not end)."
    yield ""
    yield from per_folder(results, tests, variants)
    differing = [name for name in names if results.differs(name, variants)]
    for kind, heading in ((REAL, "Differences"), (FLAKY, "Flaky")):
        chosen = [name for name in differing if results.kind(name, variants) == kind]
        yield ""
        yield f"## {heading}: {len(chosen)}"
        yield ""
        for name in chosen:
            rates = ", ".join("{} {}/{}".format(v, *results.good(name, v)) for v in variants)
            yield f"- `{name}`: {rates}"
            yield from last_words(results, name, variants)
    hung = [f"{variant} {sum(run['verdict'] != PASSED and run['verdict'] in GOOD for run in runs)}"
            f" of {len(runs)}" for variant in variants
            for runs in [[run for name in names for run in results.attempts(name, variant)]]]
    yield ""
    yield f"Hung after the test had passed, all runs: {', '.join(hung)}."
    never = [name for name in names if name not in differing and
             not any(results.good(name, variant)[0] for variant in variants)]
    yield ""
    yield f"## Failed in every variant: {len(never)}"
    yield ""
    for name in never:
        yield f"- `{name}`:"
        yield from last_words(results, name, variants)
    yield ""
    yield f"## Not run: {len(skipped)}"
    yield ""
    for reason, count in Counter(reason for _, reason in skipped).most_common():
        which = [test.name for test, why in skipped if why == reason]
        yield f"- {reason}: {count}: " + "; ".join(f"`{name}`" for name in which)
