"""Lines of a page: labels in one column, text in another, all wrapped before the terminal can do so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

Lines = list[Text]

DEFAULT_WIDTH = 100
INDENT = 4
LABEL = 16
_NARROWEST_COLUMN = 24


def as_text(lines: Iterable[Text]) -> str:
    """Return lines without colours."""
    return "".join(line.plain.rstrip() + "\n" for line in lines)


def spaced(sections: Iterable[Lines]) -> Lines:
    """Return sections with an empty line between each two; those without lines are left out."""
    lines: Lines = []
    for section in sections:
        if section := _trimmed(section):
            lines += [*([blank()] if lines else []), *section]
    return lines


def _trimmed(section: Lines) -> Lines:
    """Return a section without the empty lines at its end."""
    end = max((number for number, line in enumerate(section, 1) if line.plain), default=0)
    return section[:end]


def blank() -> Text:
    """Return an empty line."""
    return Text("")


def heading(text: str) -> Text:
    """Return a heading."""
    return Text(text, style="bold")


def paragraph(text: str, width: int, indent: int = 0, style: str = "") -> Lines:
    """Return text wrapped to the width, every line indented."""
    margin = " " * indent
    return [Text(margin + line, style=style) for line in _wrapped(text, width - indent)]


def headed(title: str, text: str, width: int, style: str = "bold") -> Lines:
    """Return a title and, behind it, its text: a paragraph that is indented by two."""
    lines = paragraph(f"{title}: {text}", width, 2)
    lines[0].stylize(style, 0, len(f"  {title}"))
    return lines


def entry(
    label: str, text: str, width: int, *, indent: int = INDENT, label_width: int = LABEL, style: str = ""
) -> Lines:
    """Return a label and its text, wrapped in its own column, or below the label where that would be too narrow."""
    if label and width - indent - label_width < _NARROWEST_COLUMN:
        return [Text(f"{' ' * indent}{label}", style="dim"), *paragraph(text, width, indent + 2, style)]
    column = max(width - indent - label_width, _NARROWEST_COLUMN // 2)
    return labelled(label, _wrapped(text, column) or [""], indent, label_width, style)


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


def fitting(label: str, rows: Sequence[str], width: int, indent: int = INDENT, label_width: int = LABEL) -> Lines:
    """Return a label next to rows that are already laid out, or above them where they would not fit beside it."""
    if label and max(map(cell_len, rows), default=0) > width - indent - label_width:
        return [*labelled(label, [""], indent, label_width), *labelled("", rows, indent + 2, label_width=0)]
    return labelled(label, rows, indent, label_width)


def beside(label: str, rows: Sequence[Text], indent: int = INDENT, label_width: int = LABEL) -> Lines:
    """Return a label next to the rows of a picture."""
    margins = labelled(label, [" "] * len(rows), indent, label_width)
    return [margin[:-1].append_text(row) for margin, row in zip(margins, rows, strict=True)]


def _wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of a width; a name or a command is never divided, so that it can be copied."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=_longest_name(text) > DEFAULT_WIDTH)


def _longest_name(text: str) -> int:
    return max(map(len, text.split()), default=0)
