"""What a page is made of, as plain records: the templates alone know how each looks.

Every text may come from others; the templates escape all of them. A picture escapes its own, but control characters in
it are replaced by who makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from veriformer.pictures.model import Picture


class Sentence(str):
    """Words of this project, whose formulas are set as formulas; all other text is shown as it stands.

    What others wrote may be code or the name of a file, in which `w_o` is no symbol with an index.
    """

    __slots__ = ()


class FormulaText(str):
    """A formula in Unicode, which may have words in it."""

    __slots__ = ()


Text = str | tuple[str, ...]
"""A text, or its parts in turn, some of which are sentences or formulas."""

Status = Literal["held", "broken", "error", "untried", "plain"]
"""What is said of a page, a card or a law."""

Tone = Literal["", "quiet", "wrong", "doubtful"]


@dataclass(frozen=True)
class Marks:
    """What the filters of the page look for: ids of laws, an operation, a status, names of mistakes."""

    laws: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    status: Status = "plain"
    mistakes: tuple[str, ...] = ()


NO_MARKS = Marks()


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: Text
    tone: Tone = ""
    kind: Literal["prose"] = "prose"


@dataclass(frozen=True)
class Facts:
    """Labels, each with its text."""

    pairs: tuple[tuple[str, Text], ...]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class Drawing:
    """A picture."""

    picture: Picture
    kind: Literal["drawing"] = "drawing"


@dataclass(frozen=True)
class Mathematics:
    """A formula in LaTeX."""

    latex: str
    kind: Literal["mathematics"] = "mathematics"


@dataclass(frozen=True)
class Code:
    """Lines of code, and the place that they come from; with a button that copies them where `copies`."""

    text: str
    place: str = ""
    copies: bool = False
    kind: Literal["code"] = "code"


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row names it."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Bullets:
    """A list of sentences, under a label where it has one."""

    items: tuple[Text, ...]
    label: str = ""
    kind: Literal["bullets"] = "bullets"


@dataclass(frozen=True)
class Link:
    """An address and what is read instead of it."""

    text: str
    address: str


@dataclass(frozen=True)
class Links:
    """Links after a label."""

    label: str
    links: tuple[Link, ...]
    kind: Literal["links"] = "links"


@dataclass(frozen=True)
class LawRow:
    """A law in a list: its id, and what it says; `path` is that of the module of a model whose law it is."""

    law: str
    statement: str
    path: str = ""
    note: str = ""


@dataclass(frozen=True)
class LawList:
    """Laws of one status."""

    rows: tuple[LawRow, ...]
    marks: Marks
    kind: Literal["laws"] = "laws"


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that is clicked; open when it is printed, or `is_open` from the start."""

    summary: Text
    blocks: tuple[Block, ...]
    is_open: bool = False
    marks: Marks = NO_MARKS
    kind: Literal["fold"] = "fold"


@dataclass(frozen=True)
class Card:
    """One thing that was found: its heading, how it is known, and everything about it."""

    anchor: str
    heading: Text
    status: Status
    blocks: tuple[Block, ...]
    name: str = ""
    sure: str = ""
    marks: Marks = NO_MARKS
    kind: Literal["card"] = "card"


Block = Prose | Facts | Drawing | Mathematics | Code | Table | Bullets | Links | LawList | Fold | Card


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Choices:
    """What the filters offer."""

    operations: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    mistakes: tuple[str, ...] = ()
    laws: bool = False

    def __bool__(self) -> bool:
        return any(len(offered) > 1 for offered in (self.operations, self.statuses, self.mistakes))


@dataclass(frozen=True)
class Page:
    """A whole page: what was found in one sentence, the facts of the run, and the sections."""

    title: str
    verdict: Text
    status: Status
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    command: str = ""
    notices: tuple[str, ...] = ()
    data: str = ""
    choices: Choices = field(default_factory=Choices)


def inside(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks and all that is in them."""
    return [
        found
        for block in blocks
        for found in (block, *(inside(block.blocks) if isinstance(block, Card | Fold) else ()))
    ]


def choices_of(sections: Sequence[Section]) -> Choices:
    """Return what can be filtered by in these sections."""
    blocks = [block for section in sections for block in inside(section.blocks)]
    marks = [block.marks for block in blocks if isinstance(block, Card | Fold | LawList)]
    return Choices(
        tuple(dict.fromkeys(name for one in marks for name in one.operations)),
        tuple(dict.fromkeys(one.status for one in marks if one.status != "plain")),
        tuple(dict.fromkeys(name for one in marks for name in one.mistakes)),
        any(one.laws for one in marks) or any(isinstance(block, LawList) for block in blocks),
    )


def told(text: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return a text whose parts are sentences where it tells one of `sentences`, as it is or inside of a clause."""
    wanted = [re.escape(form) for one in sentences if one for form in {one, one[0].lower() + one[1:]}]
    if not wanted:
        return (text,)
    parts = re.split(f"({'|'.join(sorted(wanted, key=len, reverse=True))})", text)
    return tuple(Sentence(part) if place % 2 else part for place, part in enumerate(parts) if part)


def anchor(text: str) -> str:
    """Return a text as the name of a place on a page."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")[:80]
