"""Texts of a given width in cells of a terminal, where some characters take two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.model import Mark, Status

STYLES: dict[Mark, str] = {
    "plain": "",
    "wrong": "bold red",
    "visible": "blue",
    "hidden": "dim",
    "unseen": "yellow",
    "omitted": "dim",
}
STATUS_STYLES: dict[Status, str] = {"holds": "green", "departs": "bold red", "unrecognised": "magenta", "plain": "dim"}


def printable(text: str) -> str:
    """Return a text on one line in which what is no printable character is a replacement sign."""
    return "".join(character if character.isprintable() else "�" for character in text)


def folded(text: str, width: int, style: str = "") -> list[Text]:
    """Return a text in lines that are broken between words, inside a word only where it is wider than a line."""
    lines: list[str] = []
    for word in _words(printable(text), max(width, 2)):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [Text(line, style) for line in lines]


def inside(line: Text, width: int) -> Text:
    """Return a line that is no wider than `width`, cut with an ellipsis where it has to be."""
    line = line.copy()
    line.rstrip()
    line.truncate(max(width, 1), overflow="ellipsis")
    return line


def padded(text: str, width: int, style: str = "", *, left: bool = False) -> Text:
    """Return a text of exactly `width` cells where it is not wider, its end at the right or, with `left`, its start."""
    spaces = " " * (width - cell_len(text))
    return Text(f"{text}{spaces}" if left else f"{spaces}{text}", style)


def beside(blocks: Sequence[list[Text]], gap: int) -> list[Text]:
    """Return blocks side by side, their first lines at one height."""
    widths = [max((line.cell_len for line in block), default=0) for block in blocks]
    joint = Text(" " * gap)
    return [
        joint.join(_padded(line, wide) for line, wide in zip(row, widths, strict=True)) for row in zip_longest(*blocks)
    ]


def _padded(line: Text | None, width: int) -> Text:
    line = Text() if line is None else line.copy()
    line.pad_right(width - line.cell_len)
    return line


def _words(text: str, width: int) -> Iterator[str]:
    for word in text.split():
        part = ""
        for character in word:
            if cell_len(part + character) > width:
                yield part
                part = ""
            part += character
        yield part
