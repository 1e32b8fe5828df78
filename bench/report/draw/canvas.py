"""A page in pixels on which a gnuplot script is put together: text, legend, panels. Pure.

Texts come from results folders that anybody may have made: they reach gnuplot in single quotes only, where it knows no
escapes, no macros and no commands."""

import dataclasses

from .. import texts

INK = "#000000"  # becomes the page's text colour in SVG, see svg.py
BOLD_INK = "#000001"  # the same in bold: gnuplot's SVG has no bold, svg.py gives it
PALE = "#888888"
FONT_PX = 13
SMALL_PX = 11
# Mean width of a character, in fonts' heights; generous, since each viewer has its own font.
CHARACTER = 0.58
BOLDER = 1.12  # times as wide is bold text
BOLD_PX = FONT_PX * BOLDER  # the size by which the width of bold text is reckoned
TITLE_PX = 15
LEGEND_LINE_PX = 20


def quoted(text):
    """The text as a gnuplot string of one line."""
    return "'" + texts.clean(text).replace("'", "''") + "'"


def width_of(text, size=FONT_PX):
    return len(text) * size * CHARACTER


def shortened(text, width, size=FONT_PX):
    """The text, or its beginning and an ellipsis, so that it fits into `width` pixels."""
    room = max(1, int(width / (size * CHARACTER)))
    return text if len(text) <= room else text[:max(1, room - 1)] + "…"


def wrapped(text, width, size=FONT_PX, most=3):
    """The text as at most `most` lines of at most `width` pixels."""
    lines = []
    for word in text.split() or [""]:
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[:most - 1], " ".join(lines[most - 1:])]
    return [shortened(line, width, size) for line in lines]


@dataclasses.dataclass(frozen=True)
class Box:
    """Pixels from the page's left and top."""

    left: float
    top: float
    right: float
    bottom: float


class Canvas:
    """Commands are kept with coordinates in pixels and written when the height is known."""

    def __init__(self, width, colours):
        self.width = width
        self.height = 0
        self.colours = colours
        self._parts = []  # functions of (x(px), y(px)) -> line

    def raw(self, line):
        self._parts.append(lambda x, y: line)

    def text(self, left, top, text, align="left", size=FONT_PX, colour=INK, bold=False):
        font = f"font '{'sans-serif:Bold' if bold else ''},{size}'"
        colour = BOLD_INK if bold else colour
        self._parts.append(lambda x, y: f"set label {quoted(text)} at screen {x(left)}, screen {y(top)} {align} "
                                        f"noenhanced {font} textcolor rgb '{colour}' front")

    def swatch(self, box, colour, alpha=1):
        self._parts.append(
            lambda x, y: f"set object rectangle from screen {x(box.left)}, screen {y(box.bottom)} to "
                         f"screen {x(box.right)}, screen {y(box.top)} front fillcolor rgb '{colour}' "
                         f"fillstyle {'transparent ' if alpha < 1 else ''}solid {alpha} noborder")

    def line_with_marker(self, box, colour, point_type):
        """Across the middle of the box."""
        middle = (box.top + box.bottom) / 2
        self._parts.append(lambda x, y: f"set arrow from screen {x(box.left)}, screen {y(middle)} to screen {x(box.right)}, "
                                        f"screen {y(middle)} nohead front linewidth 2 linecolor rgb '{colour}'")
        self._parts.append(lambda x, y: f"set label '' at screen {x((box.left + box.right) / 2)}, screen {y(middle)} front "
                                        f"point pointtype {point_type} pointsize 0.9 linecolor rgb '{colour}'")

    def margins(self, box):
        self._parts.append(lambda x, y: f"set lmargin at screen {x(box.left)}; set rmargin at screen {x(box.right)}; "
                                        f"set tmargin at screen {y(box.top)}; set bmargin at screen {y(box.bottom)}")

    def data(self, name, rows):
        """A block of numbers."""
        lines = [" ".join("NaN" if value is None else f"{value:.7g}" for value in row) for row in rows]
        self.raw("\n".join([f"${name} << EOD", *lines, "EOD"]))

    def interval(self, name, rows, colour, width=1.3):
        """Data of (x in pixels, low, high), and the plot that draws it. gnuplot's own error bars wipe out what is
        behind their points."""
        self.data(name, [(x, low, 0, high - low) for x, low, high in rows])
        return (f"${name} using 1:2:3:4 with vectors heads size 3,90 fixed linewidth {width} "
                f"linecolor rgb '{colour}'")

    def end_panel(self):
        self.raw("unset label; unset object; unset arrow; unset logscale; set autoscale; set format")

    def script(self):
        """All commands after `set terminal` and `set output`."""
        def x(pixel):
            return f"{pixel / self.width:.5f}"

        def y(pixel):
            return f"{1 - pixel / self.height:.5f}"
        head = ["set encoding utf8", f"set border 3 linecolor rgb '{PALE}'", "set tics nomirror scale 0.4 offset 0,0",
                f"set tics textcolor rgb '{INK}' font ',{SMALL_PX}'", "set xtics offset 0,0.35",
                "unset key", "set multiplot"]
        return "\n".join([*head, *(part(x, y) for part in self._parts), "unset multiplot", ""])


def heading(canvas, title, entries, markers=()):
    """Title and legend; entries are (label, colour, alpha), with gnuplot's point types of their lines, or squares. Returns
    the pixel below."""
    top = 18
    for line in wrapped(title, canvas.width - 12, TITLE_PX * BOLDER, 2):
        canvas.text(6, top, line, size=TITLE_PX, bold=True)
        top += 19
    left = 8
    if entries:
        top += 6
    for place, (label, colour, alpha) in enumerate(entries):
        needed = 24 + width_of(label)
        if left > 8 and left + needed > canvas.width:
            left, top = 8, top + LEGEND_LINE_PX
        if markers:
            canvas.line_with_marker(Box(left - 3, top, left + 15, top), colour, markers[place])
        else:
            canvas.swatch(Box(left, top - 6, left + 12, top + 6), colour, alpha)
        canvas.text(left + 18, top, shortened(label, canvas.width - left - 20))
        left += needed + 10
    return top + (16 if entries else -2)


def grid(count, columns, width, top, height, left=46, right=12, above=26, below=34):
    """Boxes of `count` panels in rows of `columns`, each `height` high without what is above and below it; and the
    page's bottom."""
    slot = width / columns
    boxes = []
    for place in range(count):
        row, column = divmod(place, columns)
        panel_top = top + row * (height + above + below) + above
        boxes.append(Box(column * slot + left, panel_top, (column + 1) * slot - right, panel_top + height))
    rows = -(-count // columns)
    return boxes, top + rows * (height + above + below)


def ceiling(value):
    """The end of an axis from 0 that has room for `value`, or 1 where there is nothing."""
    return value * 1.12 if value and value > 0 else 1
