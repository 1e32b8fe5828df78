"""Descriptions of figures: what is to be seen, not where it goes. Made by report.figures, drawn by the other modules
here."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Point:
    """`y` with its interval; `x` is a place (bars), a number (lines) or unused (gains)."""

    scheduler: str
    x: float
    y: float
    low: float = None
    high: float = None


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    points: tuple
    categories: tuple = ()  # bars: labels of the places 0, 1, ...
    scale: str = ""  # panels of one scale have the same y axis
    levels: tuple = ()  # lines: Points without an x, of schedulers that the parameter means nothing to


@dataclasses.dataclass(frozen=True)
class Bars:
    """`ideal`: a value to be marked, or None."""

    panels: tuple
    title: str
    ideal: float = None


@dataclasses.dataclass(frozen=True)
class Lines:
    panels: tuple
    title: str
    x_label: str


@dataclasses.dataclass(frozen=True)
class GainRow:
    """`paper` is the factor of the paper for this case, or None."""

    label: str
    points: tuple
    paper: float = None


@dataclasses.dataclass(frozen=True)
class Gains:
    rows: tuple
    title: str
    x_label: str


@dataclasses.dataclass(frozen=True)
class MatrixPanel:
    title: str
    scheduler: str
    cells: dict  # (row, column): number


@dataclasses.dataclass(frozen=True)
class Matrix:
    panels: tuple
    labels: tuple
    title: str


@dataclasses.dataclass(frozen=True)
class GanttPanel:
    title: str
    scheduler: str
    chart: object  # model.Gantt


@dataclasses.dataclass(frozen=True)
class GanttChart:
    panels: tuple
    title: str
