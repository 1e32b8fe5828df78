"""Blocks as the files of a report: pages, and figures drawn for them."""

from . import blocks, html, markdown
from .draw import gnuplot, svg


def figures_in(found):
    """All figures, those inside of details too."""
    for block in found:
        if isinstance(block, blocks.Figure):
            yield block
        elif isinstance(block, blocks.Details):
            yield from figures_in(block.blocks)


def files(found, colours):
    """{relative path: bytes} of the report, see folder.write(). `colours`: {scheduler: colour}."""
    made, drawings = {}, {}
    for figure in figures_in(found):
        wide = gnuplot.vector(figure.shape, gnuplot.WIDE_PX, colours, figure.name, figure.alt)
        narrow = gnuplot.vector(figure.shape, gnuplot.NARROW_PX, colours, f"{figure.name}-narrow", figure.alt)
        drawings[figure.name] = (svg.inline(wide), svg.inline(narrow))
        made[f"figures/{figure.name}.svg"] = svg.alone(wide)
        made[f"figures/{figure.name}.png"] = gnuplot.bitmap(figure.shape, colours)
    made["report.md"] = markdown.page(found).encode()
    with open(html.STYLE, encoding="utf-8") as style:
        made["report.html"] = html.page(found, drawings, style.read()).encode()
    return made
