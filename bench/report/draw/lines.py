"""A measure against a parameter, with intervals."""

import math

from .. import names, numbers
from . import canvas as page
from .canvas import Canvas

NARROW_PX = 500
POINTS = (7, 5, 9, 13, 11, 15)
GAP_PX = 30  # least distance of two labels of the x axis


def draw(figure, width, colours):
    """A Canvas of the width."""
    schedulers = names.schedulers(point.scheduler for panel in figure.panels
                                  for point in (*panel.points, *panel.levels))
    canvas = Canvas(width, colours)
    top = page.heading(canvas, figure.title, [(names.scheduler(name), colours[name], 1) for name in schedulers],
                       [_marker(place) for place in range(len(schedulers))])
    columns = min(len(figure.panels), 1 if width < NARROW_PX else 3 if len(figure.panels) in (3, 6, 9) else 2)
    boxes, canvas.height = page.grid(len(figure.panels), columns, width, top, 170 if len(figure.panels) > 2 else 210,
                                     below=46)
    tops = {}
    for panel in figure.panels:
        found = [max(point.y, point.high or 0) for point in (*panel.points, *panel.levels)]
        tops[panel.scale] = max([tops.get(panel.scale, 0), *found])
    values = {point.x for panel in figure.panels for point in panel.points}  # also where a panel lacks some
    for place, (panel, box) in enumerate(zip(figure.panels, boxes)):
        _panel(canvas, figure, panel, box, schedulers, page.ceiling(tops[panel.scale]), place, values)
    return canvas


def places(values, width):
    """{value: pixel from the left}: true to scale, or to its logarithm, where the labels have room; else evenly."""
    values = sorted(set(values))
    if len(values) < 2:
        return {value: width / 2 for value in values}
    for scale in (float, _logarithm):
        if values[0] <= 0 and scale is _logarithm:
            continue
        first, last = scale(values[0]), scale(values[-1])
        found = {value: width * (0.06 + 0.88 * (scale(value) - first) / (last - first)) for value in values}
        pixels = list(found.values())
        if min(after - before for before, after in zip(pixels, pixels[1:])) >= GAP_PX:
            return found
    return {value: width * (0.06 + 0.88 * place / (len(values) - 1)) for place, value in enumerate(values)}


def _logarithm(value):
    return math.log(value)


def _panel(canvas, figure, panel, box, schedulers, highest, number, values):
    width = box.right - box.left
    x = places(values, width)
    canvas.margins(box)
    canvas.text(box.left - 38, box.top - 14, page.shortened(panel.title, width + 38, page.BOLD_PX), bold=True)
    canvas.text((box.left + box.right) / 2, box.bottom + 34, page.shortened(figure.x_label, width, page.SMALL_PX), "center",
                page.SMALL_PX)
    tics = ", ".join(f"{page.quoted(numbers.setting(value))} {pixel:.7g}" for value, pixel in _labelled(x))
    canvas.raw(f"set xrange [0:{width:g}]; set yrange [0:{highest:.7g}]; set xtics ({tics}); set ytics autofreq; "
               f"set grid ytics linetype 1 linewidth 0.6 linecolor rgb '#b0{page.PALE[1:]}'")
    plots = [plot for place, level in enumerate(panel.levels)
             for plot in _level(canvas, level, width, f"level{number}_{place}")]
    for place, scheduler in enumerate(schedulers):
        mine = sorted((point for point in panel.points if point.scheduler == scheduler), key=lambda point: point.x)
        if not mine:
            continue
        # Side by side, or the intervals of two schedulers hide each other.
        shift = 4 * (place - (len(schedulers) - 1) / 2)
        name, colour = f"line{number}_{place}", canvas.colours[scheduler]
        canvas.data(name, [(x[p.x] + shift, p.y) for p in mine])
        intervals = [(x[p.x] + shift, p.low, p.high) for p in mine if p.low is not None]
        if intervals:
            plots.append(canvas.interval(f"{name}_intervals", intervals, colour))
        plots += [f"${name} using 1:2 with linespoints pointtype {_marker(place)} pointsize 0.7 "
                  f"linewidth 2 linecolor rgb '{colour}'"]
    canvas.raw("plot " + (", ".join(plots) or "-1"))
    canvas.end_panel()


def _marker(place):
    return POINTS[place % len(POINTS)]


def _level(canvas, level, width, name):
    """A line across, in a band as high as its interval."""
    colour = canvas.colours[level.scheduler]
    if level.low is not None:
        canvas.data(f"{name}_band", [(width / 2, level.y, 0, width, level.low, level.high)])
        yield (f"${name}_band using 1:2:3:4:5:6 with boxxyerror fillstyle transparent solid 0.18 noborder "
               f"linecolor rgb '{colour}'")
    canvas.data(name, [(0, level.y), (width, level.y)])
    yield f"${name} using 1:2 with lines linewidth 1.6 linecolor rgb '{colour}'"


def _labelled(x):
    """Those places whose labels do not touch."""
    end = -math.inf
    for value, pixel in sorted(x.items(), key=lambda item: item[1]):
        half = page.width_of(numbers.setting(value), page.SMALL_PX) / 2
        if pixel - half >= end:
            end = pixel + half + 2
            yield value, pixel
