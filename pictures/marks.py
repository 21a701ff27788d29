"""What marks look like and how they are read aloud, the same in every output: a picture never rests on colour alone."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.pictures.model import Cell, Grid, Mark, Picture, Row, Status

SYMBOLS: dict[Mark, str] = {
    "plain": "",
    "wrong": "✗",
    "visible": "●",
    "hidden": "·",
    "unseen": "○",
    "omitted": "…",
}
MEANINGS: dict[Mark, str] = {
    "plain": "",
    "wrong": "wrong",
    "visible": "sees",
    "hidden": "does not see",
    "unseen": "not tried",
    "omitted": "left out",
}
STATUS_SYMBOLS: dict[Status, str] = {"holds": "✓", "departs": "✗", "unrecognised": "?", "plain": "·"}
STATUS_MEANINGS: dict[Status, str] = {
    "holds": "holds",
    "departs": "departs",
    "unrecognised": "not recognised",
    "plain": "",
}
_EXPLAINED: tuple[Mark, ...] = ("visible", "hidden", "unseen", "wrong")


def shown(cell: Cell) -> str:
    """Return the text of a cell with its mark: "0.5 ✗"; the mark alone where there is no text."""
    if cell.mark == "wrong":
        return f"{cell.text}{'' if cell.text in SYMBOLS.values() else ' '}✗"
    return cell.text or SYMBOLS[cell.mark]


def spoken(cell: Cell) -> str:
    """Return a cell in words: its number and its mark, such as "0.5, wrong" or "sees"."""
    named = [meaning for mark, meaning in MEANINGS.items() if cell.text and cell.text == SYMBOLS[mark]]
    parts = (*(named or [cell.text]), MEANINGS[cell.mark])
    return ", ".join(dict.fromkeys(part for part in parts if part))


def marks_to_explain(picture: Picture) -> tuple[Mark, ...]:
    """Return the marks of a picture that a legend has to explain, in their usual order."""
    present = {cell.mark for grid in _grids(picture) for row in grid.cells for cell in row}
    symbols = {cell.text for grid in _grids(picture) for row in grid.cells for cell in row if cell.mark == "wrong"}
    present |= {mark for mark in ("visible", "hidden") if SYMBOLS[mark] in symbols}
    return tuple(mark for mark in _EXPLAINED if mark in present)


def _grids(picture: Picture) -> Iterator[Grid]:
    if isinstance(picture, Grid):
        yield picture
    elif isinstance(picture, Row):
        for part in picture.pictures:
            yield from _grids(part)
