"""Which function draws which picture, and the figure around each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from veriformer.pictures.formulas import mathml, one_line
from veriformer.pictures.html.bars import error_bar
from veriformer.pictures.html.charts import chart
from veriformer.pictures.html.clocks import clocks
from veriformer.pictures.html.style import STYLE
from veriformer.pictures.html.tables import grid, scrolling, visits
from veriformer.pictures.html.trees import tree
from veriformer.pictures.marks import MEANINGS, SYMBOLS, marks_to_explain
from veriformer.pictures.model import Chart, Clocks, ErrorBar, Formula, Grid, Picture, Row, Tree, Visits

# Longer formulas may be wider than a telephone.
_LONG_FORMULA = 24


def fragment(picture: Picture) -> str:
    """Return the markup of a picture; every text in it is escaped."""
    drawn = _drawn(picture)
    # No Markup, to which whoever adds a text has that text escaped.
    return str(Markup('<div class="vf-picture">{}{}</div>').format(drawn, _legend(picture)))


def standalone(picture: Picture) -> str:
    """Return the markup of a picture with the style that it needs, on a ground of its own.

    Of the page around it nothing is known, not even whether that is dark.
    """
    return f'<style>{STYLE}</style><div class="vf-picture vf-card">{fragment(picture)}</div>'


def _drawn(picture: Picture) -> Markup:
    return _DRAWERS[type(picture)](picture)


def _row(row: Row) -> Markup:
    title = Markup('<div class="vf-title">{}</div>').format(row.title) if row.title else Markup()
    return Markup('{}<div class="vf-row">{}</div>').format(title, Markup().join(map(_drawn, row.pictures)))


def _formula(formula: Formula) -> Markup:
    line = one_line(formula.latex)
    drawn = Markup(mathml(formula.latex))  # what passes there is mathematics only
    return scrolling(drawn, f"formula {line}", "vf-formula", wide=len(line) > _LONG_FORMULA)


def _legend(picture: Picture) -> Markup:
    marks = marks_to_explain(picture)
    if not {"visible", "hidden", "unseen"} & set(marks):
        return Markup()
    entry = Markup('<span class="vf-key"><span class="vf-swatch vf-{}" aria-hidden="true">{}</span> {}</span>')
    return Markup('<div class="vf-legend">{}</div>').format(
        Markup(" ").join(entry.format(mark, SYMBOLS[mark], MEANINGS[mark]) for mark in marks)
    )


_DRAWERS: dict[type[Any], Callable[[Any], Markup]] = {
    Grid: grid,
    ErrorBar: error_bar,
    Tree: tree,
    Clocks: clocks,
    Chart: chart,
    Visits: visits,
    Formula: _formula,
    Row: _row,
}
