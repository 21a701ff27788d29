"""Grids and visits as tables, whose headers say aloud what a cell belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from veriformer.pictures.labels import column_labels, row_labels
from veriformer.pictures.marks import shown, spoken
from veriformer.pictures.model import Cell, Grid, Region, Visits
from veriformer.pictures.words import words

# Wider tables may be wider than a telephone, whatever its font; a keyboard reaches what scrolls.
_WIDE = 28
_SHADES = 10


def grid(grid: Grid) -> Markup:
    """Return a table with a header for each row and column that has a label."""
    rows = row_labels(grid)
    body = Markup().join(
        Markup("<tr>{}{}</tr>").format(_row_header(rows, number), Markup().join(map(_cell, row)))
        for number, row in enumerate(grid.cells)
    )
    note = Markup('<div class="vf-note">{}</div>').format(grid.note) if grid.note else Markup()
    table = Markup('<table class="vf-grid">{}{}<tbody>{}</tbody></table>').format(_caption(grid), _head(grid), body)
    return Markup('<div class="vf-part">{}{}</div>').format(scrolling(table, words(grid), wide=_is_wide(grid)), note)


def visits(visits: Visits) -> Markup:
    """Return a table with a row for each axis and a chip for each of its regions."""
    row = Markup('<tr><th scope="row">{}</th><td><ul class="vf-regions">{}</ul></td></tr>')
    body = Markup().join(row.format(axis, Markup().join(map(_region, regions))) for axis, regions in visits.axes)
    table = Markup('<table class="vf-visits"><caption>{}</caption><tbody>{}</tbody></table>').format(visits.title, body)
    return Markup('<div class="vf-part">{}</div>').format(scrolling(table, words(visits), wide=True))


def scrolling(content: Markup, label: str, kind: str = "", *, wide: bool) -> Markup:
    """Return content in a box of its own, which scrolls, and can be reached by keyboard, where it may be too wide."""
    reach = Markup(' tabindex="0" role="group" aria-label="{}"').format(label) if wide else Markup()
    return Markup('<div class="vf-scroll{}"{}>{}</div>').format(f" {kind}" if kind else "", reach, content)


def _caption(grid: Grid) -> Markup:
    return Markup("<caption>{}</caption>").format(grid.title) if grid.title else Markup()


def _head(grid: Grid) -> Markup:
    labels = column_labels(grid)
    axes = _axes(grid)
    if not labels and not axes:
        return Markup()
    cells = labels or [""] * max(map(len, grid.cells), default=0)
    corner = Markup('<td class="vf-corner">{}</td>').format(" ".join(axes)) if row_labels(grid) or axes else Markup()
    header = Markup('<th scope="col">{}</th>')
    return Markup("<thead><tr>{}{}</tr></thead>").format(corner, Markup().join(map(header.format, cells)))


def _axes(grid: Grid) -> list[str]:
    """Return what stands in the corner: what rows and columns are."""
    return [f"{grid.row_axis} ↓"] * bool(grid.row_axis) + [f"{grid.column_axis} →"] * bool(grid.column_axis)


def _row_header(labels: Sequence[str], number: int) -> Markup:
    return Markup('<th scope="row">{}</th>').format(labels[number]) if labels else Markup()


def _cell(cell: Cell) -> Markup:
    shade = "" if cell.share is None else f" vf-shade-{round(_SHADES * min(max(cell.share, 0.0), 1.0))}"
    visible, aloud = shown(cell), spoken(cell)
    if visible == aloud:
        return Markup('<td class="vf-{}{}">{}</td>').format(cell.mark, shade, visible)
    return Markup(
        '<td class="vf-{}{}"><span aria-hidden="true">{}</span><span class="vf-spoken">{}</span></td>'
    ).format(cell.mark, shade, visible, aloud)


def _region(region: Region) -> Markup:
    mark = "visible" if region.cases else "unseen"
    cases = f"{region.cases:,}" if region.cases else "none"
    return Markup('<li class="vf-{}">{} <b>{}</b></li>').format(mark, region.label, cases)


def _is_wide(grid: Grid) -> bool:
    texts = [column_labels(grid), *([shown(cell) for cell in row] for row in grid.cells)]
    first = max(map(len, (" ".join(_axes(grid)), *row_labels(grid))))
    return first + max(sum(len(text) + 2 for text in row) for row in texts) > _WIDE
