"""Which function draws which picture, and pictures side by side where they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from veriformer.pictures.formulas import one_line
from veriformer.pictures.marks import MEANINGS, SYMBOLS, marks_to_explain
from veriformer.pictures.model import Chart, Clocks, ErrorBar, Formula, Grid, Picture, Row, Tree, Visits
from veriformer.pictures.terminal.bars import error_bar
from veriformer.pictures.terminal.charts import chart
from veriformer.pictures.terminal.clocks import clocks
from veriformer.pictures.terminal.grids import grid
from veriformer.pictures.terminal.texts import STYLES, beside, folded, inside
from veriformer.pictures.terminal.trees import tree
from veriformer.pictures.terminal.visits import visits

_GAP = 3


def lines(picture: Picture, width: int) -> list[Text]:
    """Return the rows of a picture, a legend of its marks last; control characters in its texts are replaced."""
    return [inside(line, width) for line in [*_drawn(picture, width), *_legend(picture, width)]]


def _drawn(picture: Picture, width: int) -> list[Text]:
    return _DRAWERS[type(picture)](picture, width)


def _row(row: Row, width: int) -> list[Text]:
    blocks = [_drawn(picture, width) for picture in row.pictures]
    return [*folded(row.title, width, "bold"), *_packed(blocks, width)]


def _packed(blocks: Sequence[list[Text]], width: int) -> list[Text]:
    """Return blocks side by side, in as many bands as the width requires."""
    bands: list[list[list[Text]]] = []
    used = 0
    for block in blocks:
        wide = max((line.cell_len for line in block), default=0) + _GAP
        if not bands or used + wide - _GAP > width:
            bands.append([])
            used = 0
        bands[-1].append(block)
        used += wide
    return [line for band in bands for line in beside(band, _GAP)]


def _formula(formula: Formula, width: int) -> list[Text]:
    return folded(one_line(formula.latex), width)


def _legend(picture: Picture, width: int) -> list[Text]:
    marks = marks_to_explain(picture)
    if not {"visible", "hidden", "unseen"} & set(marks):
        return []
    entries = [Text.assemble((SYMBOLS[mark], STYLES[mark]), (f" {MEANINGS[mark]}", "dim")) for mark in marks]
    return _packed([[entry] for entry in entries], width)


_DRAWERS: dict[type[Any], Callable[[Any, int], list[Text]]] = {
    Grid: grid,
    ErrorBar: error_bar,
    Tree: tree,
    Clocks: clocks,
    Chart: chart,
    Visits: visits,
    Formula: _formula,
    Row: _row,
}
