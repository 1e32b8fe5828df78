"""Grouped bars with intervals."""

from .. import names, numbers
from . import canvas as page
from .canvas import Canvas

NARROW_PX = 500
BAR_PX = 34  # widest
NUMBER_PX = 9  # the font above bars: a number is no wider than the bar


def draw(figure, width, colours):
    """A Canvas of the width."""
    schedulers = names.schedulers(point.scheduler for panel in figure.panels for point in panel.points)
    canvas = Canvas(width, colours)
    top = page.heading(canvas, figure.title, [(names.scheduler(name), colours[name], 1) for name in schedulers])
    most = max(2, int((width - 60) / max(64, 20 * len(schedulers) + 16)))
    pieces = [piece for panel in figure.panels for piece in _pieces(panel, most)]
    widest = max(len(piece.categories) for piece in pieces)
    columns = 2 if width > NARROW_PX and len(pieces) > 1 and widest * 2 <= most else 1
    slot = (width / columns - 58) / max(1, widest)
    most_lines = max(len(_label(label, slot)) for piece in pieces for label in piece.categories)
    boxes, canvas.height = page.grid(len(pieces), columns, width, top, 190, below=10 + 14 * most_lines)
    highest = max((max(point.y, point.high or 0) for panel in figure.panels for point in panel.points), default=0)
    highest = max(highest, figure.ideal or 0)
    for place, (piece, box) in enumerate(zip(pieces, boxes)):
        if figure.ideal is not None:
            canvas.raw(f"set arrow from graph 0, first {figure.ideal:.7g} to graph 1, first {figure.ideal:.7g} nohead "
                       f"front linewidth 1 dashtype 2 linecolor rgb '{page.INK}'")
        _panel(canvas, piece, box, schedulers, page.ceiling(highest), place)
    return canvas


def _pieces(panel, most):
    """The panel, or several with at most so many categories each."""
    count = len(panel.categories)
    size = -(-count // -(-count // most)) if count else 1
    for start in range(0, max(count, 1), size):
        points = tuple(type(point)(point.scheduler, point.x - start, point.y, point.low, point.high)
                       for point in panel.points if start <= point.x < start + size)
        part = f" ({start // size + 1} of {-(-count // size)})" if count > size else ""
        yield type(panel)(panel.title + part, points, panel.categories[start:start + size])


def above(value):
    """The number in four characters, where that can be."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}" if 0.1 <= value < 1e4 else numbers.plain(value)


def _label(label, slot):
    return page.wrapped(label, slot - 4, page.SMALL_PX)


def _panel(canvas, panel, box, schedulers, highest, number):
    slot = (box.right - box.left) / max(1, len(panel.categories))
    bar = min(BAR_PX, slot * 0.84 / len(schedulers))

    def pixel(point):
        here = [name for name in schedulers if any((p.x, p.scheduler) == (point.x, name) for p in panel.points)]
        offset = here.index(point.scheduler) - (len(here) - 1) / 2
        return box.left + (point.x + 0.5) * slot + offset * bar

    def height(value):
        return box.bottom - (box.bottom - box.top) * value / highest

    canvas.margins(box)
    title = page.shortened(panel.title, box.right - box.left + 38, page.BOLD_PX)
    canvas.text(box.left - 38, box.top - 14, title, bold=True)
    for place, label in enumerate(panel.categories):
        for line, text in enumerate(_label(label, slot)):
            canvas.text(box.left + (place + 0.5) * slot, box.bottom + 13 + 13 * line, text, "center", page.SMALL_PX)
    for point in panel.points:
        text = above(point.y)
        if bar >= page.width_of(text, NUMBER_PX):
            canvas.text(pixel(point), height(max(point.y, point.high or 0)) - 8, text, "center", NUMBER_PX)
    canvas.raw(f"set xrange [{box.left:g}:{box.right:g}]; set yrange [0:{highest:.7g}]; unset xtics; "
               f"set ytics autofreq; set grid ytics linetype 1 linewidth 0.6 linecolor rgb '#b0{page.PALE[1:]}'")
    plots = []
    for scheduler in schedulers:
        name = f"bars{number}_{schedulers.index(scheduler)}"
        mine = [point for point in panel.points if point.scheduler == scheduler]
        if not mine:
            continue
        canvas.data(name, [(pixel(p), p.y, pixel(p) - bar * 0.46, pixel(p) + bar * 0.46, 0, p.y) for p in mine])
        plots.append(f"${name} using 1:2:3:4:5:6 with boxxyerror fillstyle solid 1 noborder "
                     f"linecolor rgb '{canvas.colours[scheduler]}'")
    intervals = [(pixel(p), p.low, p.high) for p in panel.points if p.low is not None]
    if intervals:
        plots.append(canvas.interval(f"intervals{number}", intervals, page.INK))
    canvas.raw("plot " + (", ".join(plots) or "-1"))
    canvas.end_panel()
