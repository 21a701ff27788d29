"""What every export shows, whatever was checked or compared: a sentence, what was checked, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.reports.locations import Place

Level = Literal["error", "warning", "note"]
Status = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    `rule` is the name under which problems of its kind are listed: a mistake of the catalogue, a law's id, or a few
    words with underscores. `where` is the operation or module. `laws` are the broken laws, `text` has the smallest case
    over several lines. `expected` is the reason in a list of expected failures; empty for what nobody expects.
    """

    rule: str
    level: Level
    sentence: str
    where: str
    place: Place | None = None
    laws: tuple[str, ...] = ()
    text: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Checked:
    """One thing that was checked: a law of an operation, or a part of a model.

    `group` is the operation, or what the part is. `sentence` says what is wrong or why it was skipped.
    """

    group: str
    name: str
    status: Status = "passed"
    sentence: str = ""
    text: str = ""
    seconds: float = 0.0
    place: Place | None = None


@dataclass(frozen=True)
class Table:
    """Rows of texts below a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Outcome:
    """The outcome for one implementation, one model, or one comparison.

    `sentence` says what was found, `facts` how: the framework, the seed. It `ran` unless nothing could be loaded.
    """

    name: str
    sentence: str
    conforms: bool
    facts: str = ""
    checked: tuple[Checked, ...] = ()
    problems: tuple[Problem, ...] = ()
    table: Table | None = None
    notices: tuple[str, ...] = ()
    seconds: float = 0.0
    ran: bool = True
