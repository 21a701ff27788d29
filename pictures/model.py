"""What is drawn, as plain records that say nothing about how they look.

Every picture has a title and can be put into words (`words.py`), so that nobody needs to see it. The texts in it may
come from a user's program: who draws a picture escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["plain", "wrong", "visible", "hidden", "unseen", "omitted"]
"""What is said of a cell: nothing, that it is wrong, that a query sees this key, that it does not, that no case tried
it, or that it stands for cells that were left out."""

Status = Literal["holds", "departs", "unrecognised", "plain"]
"""What is said of a part of a model."""


@dataclass(frozen=True)
class Cell:
    """One entry of a grid: its text, what is said of it, and how dark it is, from 0 to 1, where that shows a value."""

    text: str
    mark: Mark = "plain"
    share: float | None = None


@dataclass(frozen=True)
class Grid:
    """A matrix: its rows are counted along `row_axis`, such as "query", its columns along `column_axis`, such as "key".

    Rows and columns are numbered from 0 where an axis has a name and no labels. `note` says what was left out.
    """

    title: str
    cells: tuple[tuple[Cell, ...], ...]
    row_axis: str = ""
    column_axis: str = ""
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class ErrorBar:
    """An error and the largest one that rounding explains, both positive, on a logarithmic scale.

    Either may be 0 or infinite; an error that is no number counts as infinite.
    """

    title: str
    error: float
    explained: float


@dataclass(frozen=True)
class Node:
    """A part of a model: its name, what it is, and whether it is right; `place` is the line of code, if it is known."""

    label: str
    text: str
    status: Status = "plain"
    place: str = ""
    children: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Tree:
    """The parts of a model."""

    title: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Clocks:
    """Angles as the hands of clocks, in radians: a row for each position, a clock for each pair of components.

    Hands point up at 0 and turn clockwise.
    """

    title: str
    angles: tuple[tuple[float, ...], ...]
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One line of a chart, as points (x, y)."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    """Curves over one axis; `logarithmic` names the axes that are: "", "x", "y" or "xy"."""

    title: str
    lines: tuple[Line, ...]
    x_axis: str
    y_axis: str
    logarithmic: Literal["", "x", "y", "xy"] = ""


@dataclass(frozen=True)
class Region:
    """One region of the space of cases: what it is, and how many cases visited it."""

    label: str
    cases: int


@dataclass(frozen=True)
class Visits:
    """Which regions of the space of cases were visited, by axis, such as "lengths" or "masks"."""

    title: str
    axes: tuple[tuple[str, tuple[Region, ...]], ...]


@dataclass(frozen=True)
class Formula:
    """A formula in LaTeX, without dollar signs."""

    latex: str


@dataclass(frozen=True)
class Row:
    """Pictures that are read side by side, such as expected, got and difference."""

    title: str
    pictures: tuple[Picture, ...]


Picture = Grid | ErrorBar | Tree | Clocks | Chart | Visits | Formula | Row
