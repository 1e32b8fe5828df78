"""report.html, report.md and figures/ of a session, by the means of bench/report."""

import json
import os

from report import blocks, folder, names, pages

from . import figures, sentences, tables

PAPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "paper.json")


def _intro(summary, paper):
    yield blocks.Heading(1, "Dynamic coscheduling: the paper's Figures 3, 4, 6, 7 and 8")
    yield blocks.Paragraph("Runs of bench/run_dcs.sh on a virtual cluster. Ideal is perfect sharing: each parallel job "
                           "has its part of the nodes, and all processes of the sequential class together have one. "
                           "Medians with their 90 % bootstrap intervals; of two or three runs these are from the least to the "
                           "greatest, and hold the true median in 50 or 75 % of all cases only.", "lead")
    yield blocks.Paragraph(f"Paper: {paper['source']}; {paper['machine']}. {paper['note']}", "note")
    for text in tables.remarks(summary):
        yield blocks.Paragraph(text, "warning")


def _figure(number, summary, paper):
    rows = figures.rows_of(number, summary["rows"])
    title = f"Figure {number}. {paper['title']}"
    yield blocks.Heading(2, title)
    shape = figures.shape(number, rows, paper["title"])
    seen = sentences.of(number, rows, paper)
    yield blocks.Paragraph(seen, "seen")
    yield blocks.Paragraph(f"The paper: {paper['says']}", "paper")
    if shape is not None:
        yield blocks.Figure(f"figure-{number}", shape, f"{title}; its numbers follow as a table",
                            figures.table(number, rows, paper))


def made_of(summary, paper):
    """The report's blocks. Pure."""
    found = list(_intro(summary, paper))
    used = {figures.scheduler(row["variant"]) for row in summary["rows"]}
    colours = names.colours(used)
    found.append(blocks.Key(tuple((colours[name], names.scheduler(name), names.explanation(name))
                                  for name in names.schedulers(used))))
    for number in summary["figures"]:
        found += _figure(number, summary, paper["figures"][str(number)])
    beside = tuple((names.scheduler(figures.scheduler(variant)), names.mpi(mpi), *told)
                   for variant, mpi, *told in tables.company(summary))
    if beside:
        found += [blocks.Heading(2, "Over all kinds of company"), blocks.Paragraph(tables.COMPANY_WORDS),
                  blocks.Table(tables.COMPANY, beside, words=2)]
    found.append(blocks.Details("All that was measured", (blocks.Table(tables.HEADER, tuple(tables.body(summary)),
                                                                       words=5),)))
    return found


def write(path, summary):
    """Writes the report into the results folder."""
    with open(PAPER, encoding="utf-8") as file:
        paper = json.load(file)
    colours = names.colours({figures.scheduler(row["variant"]) for row in summary["rows"]})
    folder.write(path, pages.files(made_of(summary, paper), colours))
