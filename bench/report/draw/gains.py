"""How many times faster than the baseline: a point with its interval per case, the paper's beside it."""

import math

from .. import names
from . import canvas as page
from .canvas import Box, Canvas

NARROW_PX = 500
ROW_PX = 25
TICS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000)


def draw(figure, width, colours):
    """A Canvas of the width."""
    schedulers = names.schedulers(point.scheduler for row in figure.rows for point in row.points)
    canvas = Canvas(width, colours)
    entries = [(names.scheduler(name), colours[name], 1) for name in schedulers]
    top = page.heading(canvas, figure.title, entries)
    if any(row.paper for row in figure.rows):
        canvas.text(12, top + 2, "◇", "center", 15)
        canvas.text(26, top + 2, "what the paper saw")
        top += page.LEGEND_LINE_PX
    size = page.SMALL_PX if width < NARROW_PX else page.FONT_PX
    label_px = min(width * 0.44, max(page.width_of(row.label, size) for row in figure.rows) + 10)
    step = max(ROW_PX, 11 * len(schedulers) + 8)
    box = Box(label_px + 8, top + 4, width - 16, top + 4 + step * len(figure.rows))
    canvas.height = box.bottom + 46
    low, high = _range(figure)
    for place, row in enumerate(figure.rows):
        canvas.text(label_px, box.top + (place + 0.5) * step, page.shortened(row.label, label_px - 6, size), "right",
                    size)
    canvas.text(width / 2 if width < NARROW_PX else (box.left + box.right) / 2, box.bottom + 35,
                page.shortened(figure.x_label, width, page.SMALL_PX), "center", page.SMALL_PX)
    canvas.margins(box)
    count = len(figure.rows)
    tics = ", ".join(f"'{tic:g}' {tic:g}" for tic in tics_between(low, high, box.right - box.left))
    canvas.raw(f"set logscale x; set xrange [{low:.7g}:{high:.7g}]; set yrange [{count}:0]; set xtics ({tics}); "
               "unset ytics; set border 1; "
               f"set grid xtics linetype 1 linewidth 0.6 linecolor rgb '#b0{page.PALE[1:]}'; "
               f"set arrow from 1, graph 0 to 1, graph 1 nohead linewidth 1.6 linecolor rgb '{page.INK}' back")
    plots = []
    for place, scheduler in enumerate(schedulers):
        shift = 0.5 + 11 * (place - (len(schedulers) - 1) / 2) / step
        mine = [(p.y, at + shift, p.low or p.y, min(p.high or p.y, 10 * high))
                for at, row in enumerate(figure.rows) for p in row.points if p.scheduler == scheduler]
        if not mine:
            continue
        canvas.data(f"gain{place}", mine)
        plots.append(f"$gain{place} using 1:2:3:4 with xerrorbars pointtype 7 pointsize 0.8 linewidth 2 "
                     f"linecolor rgb '{colours[scheduler]}'")
    paper = [(row.paper, at + 0.5) for at, row in enumerate(figure.rows) if row.paper]
    if paper:
        canvas.data("paper", paper)
        plots.append(f"$paper using 1:2 with points pointtype 12 pointsize 1.1 linewidth 1.6 "
                     f"linecolor rgb '{page.INK}'")
    canvas.raw("plot " + ", ".join(plots))
    return canvas


def _range(figure):
    values = [1.0]
    for row in figure.rows:
        values += [value for point in row.points for value in (point.y, point.low, point.high)
                   if value and value < math.inf]
        values += [row.paper] if row.paper else []
    return min(values) / 1.12, max(values) * 1.12


def tics_between(low, high, width):
    """Tics in the range whose labels do not touch; 1 is always one of them."""
    scale = width / math.log(high / low)
    chosen = [1]
    for tic in sorted(TICS, key=lambda tic: (tic not in (1, 2, 5, 10, 0.5, 0.2, 20, 50, 100), tic)):
        if low <= tic <= high and all(abs(math.log(tic / other)) * scale >= 32 for other in chosen):
            chosen.append(tic)
    return sorted(chosen)
