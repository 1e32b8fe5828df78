"""Runs gnuplot on a Canvas."""

import os
import subprocess

from .. import ReportError
from . import bars, gains, gantt, lines, matrix, shapes, svg

WIDE_PX = 760
NARROW_PX = 350
LIMIT_S = 120
DRAWERS = {shapes.Bars: bars.draw, shapes.Lines: lines.draw, shapes.Gains: gains.draw, shapes.Matrix: matrix.draw,
           shapes.GanttChart: gantt.draw}


def canvas(shape, width, colours):
    """The Canvas of any shape."""
    return DRAWERS[type(shape)](shape, width, colours)


def _run(script):
    # Neither a user's ~/.gnuplot nor GNUTERM may change what a figure looks like.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GNU")}
    try:
        done = subprocess.run(["gnuplot", "-d"], input=script.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**environment, "LC_ALL": "C.UTF-8"}, timeout=LIMIT_S,
                              check=False)
    except FileNotFoundError:
        raise ReportError("gnuplot is not installed; on Debian: apt-get install gnuplot-nox") from None
    except subprocess.TimeoutExpired:
        raise ReportError(f"gnuplot did not end within {LIMIT_S} s") from None
    complaint = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0 or not done.stdout:
        lines_said = complaint.splitlines()
        raise ReportError(f"gnuplot failed: {lines_said[-1] if lines_said else 'it made nothing'}")
    return done.stdout


def vector(shape, width, colours, name, description):
    """The refined SVG element, see svg.refine."""
    page = canvas(shape, width, colours)
    terminal = f"set terminal svg noenhanced size {page.width:g},{page.height:g} dynamic font 'sans-serif,13'\n"
    return svg.refine(_run(terminal + page.script()), name, description)


def bitmap(shape, colours):
    """PNG bytes on white, twice as fine as the page."""
    page = canvas(shape, WIDE_PX, colours)
    # Sizes of fonts are in points of 4/3 pixels here.
    terminal = (f"set terminal pngcairo noenhanced size {2 * page.width:g},{2 * page.height:g} fontscale 1.5 "
                "linewidth 2 pointscale 2.6 background rgb 'white' font 'sans,13'\n")
    return _run(terminal + page.script())
