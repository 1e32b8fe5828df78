"""A matrix of numbers around 1 as coloured cells, one panel per scheduler."""

import math

from . import canvas as page
from .canvas import Box, Canvas

NARROW_PX = 500
# Factor and colour: blue below a fair share, pale at it, orange to dark red above.
SCALE = ((0.5, (33, 102, 172)), (0.8, (146, 197, 222)), (1.0, (245, 245, 240)), (1.3, (253, 190, 120)),
         (1.8, (227, 115, 40)), (3.0, (140, 30, 10)))
LEGEND = (0.5, 0.8, 1.0, 1.3, 1.8, 3.0)


def colour(value):
    """Red, green and blue for a factor, even in its logarithm."""
    if value <= SCALE[0][0]:
        return SCALE[0][1]
    for (low, first), (high, last) in zip(SCALE, SCALE[1:]):
        if value <= high:
            part = math.log(value / low) / math.log(high / low)
            return tuple(round(a + part * (b - a)) for a, b in zip(first, last))
    return SCALE[-1][1]


def ink(background):
    """Black or white, whichever can be read on it."""
    def linear(channel):
        channel /= 255
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
    luminance = sum(weight * linear(part) for weight, part in zip((0.2126, 0.7152, 0.0722), background))
    return "#010101" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def _hexadecimal(rgb):
    return "#%02x%02x%02x" % rgb


def draw(figure, width, colours):
    """A Canvas of the width."""
    canvas = Canvas(width, colours)
    top = page.heading(canvas, figure.title, [])
    top = _legend(canvas, top + 10)
    count = len(figure.labels)
    label_px = min(90, max(map(page.width_of, figure.labels), default=0) + 12)
    # One row of panels for each MPI, where that fits.
    schedulers = len({panel.scheduler for panel in figure.panels})
    columns = 1 if width < NARROW_PX else max(1, min(schedulers, 3, int(width / (label_px + 27 * count))))
    cell = min(38, (width / columns - label_px - 14) / max(1, count))
    boxes, canvas.height = page.grid(len(figure.panels), columns, width, top, cell * count, left=label_px, above=46,
                                     below=6)
    for panel, box in zip(figure.panels, boxes):
        _panel(canvas, figure, panel, Box(box.left, box.top, box.left + cell * count, box.bottom), cell)
    canvas.margins(Box(0, 0, 1, 1))  # gnuplot shows labels and objects only with a plot
    canvas.raw("unset tics; unset border; set xrange [0:1]; set yrange [0:1]; plot -1")
    return canvas


def _legend(canvas, top):
    left = 8
    for factor in LEGEND:
        first, last = factor == LEGEND[0], factor == LEGEND[-1]
        canvas.swatch(Box(left, top - 9, left + 42, top + 9), _hexadecimal(colour(factor)))
        canvas.text(left + 21, top, f"{'≤' if first else ''}{factor:g}{'+' if last else ''}", "center", page.SMALL_PX, ink(colour(factor)))
        left += 44
    canvas.text(left + 6, top, "1 = fair", "left", page.SMALL_PX)
    return top + 12


def _panel(canvas, figure, panel, box, cell):
    canvas.text(box.left, box.top - 33, page.shortened(panel.title, box.right - box.left + 20, page.BOLD_PX), bold=True)
    size = 10 if cell >= 27 else 8
    for place, label in enumerate(figure.labels):
        middle = (place + 0.5) * cell
        canvas.text(box.left - 6, box.top + middle, page.shortened(label, box.left), "right", page.SMALL_PX)
        canvas.text(box.left + middle, box.top - 12, page.shortened(label, cell + 2, page.SMALL_PX), "center",
                    page.SMALL_PX)
    for row, first in enumerate(figure.labels):
        for column, second in enumerate(figure.labels):
            left, top = box.left + column * cell, box.top + row * cell
            value = panel.cells.get((first, second))
            area = Box(left + 0.7, top + 0.7, left + cell - 0.7, top + cell - 0.7)
            if value is None:
                canvas.swatch(area, page.PALE, 0.12)
                continue
            canvas.swatch(area, _hexadecimal(colour(value)))
            canvas.text(left + cell / 2, top + cell / 2, f"{value:.2f}" if value < 10 else f"{value:.0f}", "center",
                        size, ink(colour(value)))
