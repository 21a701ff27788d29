"""Pictures as fragments of HTML: tables and inline SVG, readable without a script.

fragment(picture)   the markup, which needs `STYLE` once on its page
standalone(picture) the same with its style, for a notebook
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from veriformer.pictures.model import Cell, Grid, Picture, Row

STYLE = """
.vf-grid { border-collapse: collapse; font-family: monospace }
.vf-grid td { padding: 0.1em 0.4em; text-align: right }
.vf-grid td.vf-wrong { outline: 2px solid currentColor }
"""


def fragment(picture: Picture) -> str:
    """Return the markup of a picture; every text in it is escaped."""
    return _DRAWERS[type(picture)](picture)


def standalone(picture: Picture) -> str:
    """Return the markup of a picture with the style that it needs."""
    return f"<style>{STYLE}</style>{fragment(picture)}"


def _grid(grid: Grid) -> str:
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in grid.cells)
    return f'<table class="vf-grid"><caption>{escape(grid.title)}</caption><tbody>{rows}</tbody></table>'


def _cell(cell: Cell) -> str:
    return f'<td class="vf-{cell.mark}">{escape(cell.text)}</td>'


def _row(row: Row) -> str:
    return f'<div class="vf-row">{"".join(map(fragment, row.pictures))}</div>'


_DRAWERS: dict[type[Any], Callable[[Any], str]] = {Grid: _grid, Row: _row}
