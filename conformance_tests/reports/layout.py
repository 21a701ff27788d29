"""Lines of a page: labels in one column, text in another, all wrapped before the terminal can do so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rich.text import Text

Lines = list[Text]

DEFAULT_WIDTH = 100
INDENT = 4
LABEL = 16


def as_text(lines: Iterable[Text]) -> str:
    """Return lines without colours."""
    return "".join(line.plain.rstrip() + "\n" for line in lines)


def blank() -> Text:
    """Return an empty line."""
    return Text("")


def heading(text: str) -> Text:
    """Return a heading."""
    return Text(text, style="bold")


def paragraph(text: str, width: int, indent: int = 0, style: str = "") -> Lines:
    """Return text wrapped to the width, every line indented."""
    margin = " " * indent
    return [
        Text(line, style=style)
        for line in textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
    ]


def entry(
    label: str, text: str, width: int, *, indent: int = INDENT, label_width: int = LABEL, style: str = ""
) -> Lines:
    """Return a label and its text, wrapped in its own column."""
    column = max(width - indent - label_width, 20)
    return labelled(label, textwrap.wrap(text, column, break_on_hyphens=False) or [""], indent, label_width, style)


def labelled(label: str, rows: Iterable[str], indent: int = INDENT, label_width: int = LABEL, style: str = "") -> Lines:
    """Return a label next to rows that are already laid out; a label that is too long gets a line of its own."""
    lines: Lines = []
    margin = " " * indent
    if label and len(label) >= label_width:
        lines.append(Text(f"{margin}{label}", style="dim"))
        label = ""
    for row in rows:
        line = Text(margin)
        line.append(label.ljust(label_width) if row else label, style="dim")
        line.append(row, style=style)
        lines.append(line)
        label = ""
    return lines
