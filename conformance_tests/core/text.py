"""Text that others wrote, made safe to print: names, messages and output of the implementation under test."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

LONGEST_LINE = 200


def plain(text: object, longest: int = LONGEST_LINE) -> str:
    """Return one line in which control characters are written out and which is at most `longest` long."""
    # Escaping only the part that can be shown keeps a message of a gigabyte cheap.
    visible = "".join(_visible(character) for character in str(text)[: longest + 1])
    return visible if len(visible) <= longest else visible[: longest - 1] + "…"


def printable(text: str, longest: int = 2000) -> str:
    """Return the lines of a text, each made plain, and its last line end where it has one."""
    lines = text.split("\n")
    return "\n".join(plain(line, longest) for line in lines)


def plain_lines(text: str, most: int) -> list[str]:
    """Return the last `most` lines of a text, each made plain, with a line that says how many were left out."""
    lines = [plain(line) for line in text.rstrip().splitlines()]
    if len(lines) <= most:
        return lines
    return [f"… {counted(len(lines) - most, 'line')} left out …", *lines[-most:]]


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 law", "1,304 cases"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Return the first names and how many follow: "a, b, c and 7 more"."""
    shown = ", ".join(names[:most])
    rest = len(names) - most
    return f"{shown} and {rest} more" if rest > 0 else shown


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, separated by commas."""
    return ", ".join(part for part in parts if part)


def _visible(character: str) -> str:
    if character == "\t":
        return "    "
    # "C" is every kind of control, format, surrogate and unassigned character.
    # Separators of lines and paragraphs would end the line as well.
    if unicodedata.category(character).startswith("C") or unicodedata.category(character) in ("Zl", "Zp"):
        return character.encode("unicode_escape", "backslashreplace").decode("ascii")
    return character
