"""What a learner has done, in a file of the folder with the answers; nothing leaves the machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veriformer.lessons.exercise import Exercise

if TYPE_CHECKING:
    from veriformer.lessons.outcome import Outcome

FILE = ".veriformer_progress.json"
_SCHEMA = 1


@dataclass(frozen=True)
class Standing:
    """What is known of one exercise: its last state, of which answer, and which hints were given about what."""

    state: str = ""
    answer: str = ""
    about: str = ""
    hints: int = 0


@dataclass
class Progress:
    """The standing of each exercise in a folder; `unreadable` says that the file was there and no record of this."""

    folder: Path
    standings: dict[str, Standing] = field(default_factory=dict)
    unreadable: bool = False

    def of(self, exercise: Exercise) -> Standing:
        """Return the standing of an exercise."""
        return self.standings.get(exercise.id, Standing())

    def is_done(self, exercise: Exercise) -> bool:
        """Return whether an exercise was done, and its answer is still the same."""
        standing = self.of(exercise)
        return standing.state == "done" and standing.answer == fingerprint(self.folder / exercise.file_name)

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Keep outcomes; hints that were given about another failure are forgotten."""
        for outcome in outcomes:
            before, about = self.of(outcome.exercise), failure(outcome)
            self.standings[outcome.exercise.id] = Standing(
                outcome.state,
                fingerprint(self.folder / outcome.exercise.file_name),
                about,
                before.hints if before.about == about else 0,
            )

    def next_layer(self, outcome: Outcome, last: int) -> int:
        """Return the number of the next hint about an outcome, and keep that it was given; the last one repeats."""
        self.record([outcome])
        standing = self.of(outcome.exercise)
        layer = min(standing.hints + 1, last)
        self.standings[outcome.exercise.id] = replace(standing, hints=layer)
        return layer

    def save(self) -> None:
        """Write the file; OSError where the folder cannot be written."""
        record = {"schema": _SCHEMA, "exercises": {name: asdict(one) for name, one in self.standings.items()}}
        path = self.folder / FILE
        whole = path.with_suffix(".tmp")
        whole.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        whole.replace(path)


def read_progress(folder: Path) -> Progress:
    """Return the progress that a folder has; nothing where there is no file, or another program's."""
    path = folder / FILE
    if not path.is_file():
        return Progress(folder)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        standings = {name: _standing(one) for name, one in record["exercises"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Progress(folder, unreadable=True)
    return Progress(folder, standings)


def failure(outcome: Outcome) -> str:
    """Return what an outcome is about, so that hints about it can be told from those about another failure."""
    law = outcome.law.law.id if outcome.law else outcome.sentence
    return "" if outcome.done else " ".join((outcome.state, law, *outcome.mistakes))


def fingerprint(path: Path) -> str:
    """Return the fingerprint of a file's contents; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def _standing(record: dict[str, Any]) -> Standing:
    texts = {name: str(record[name]) for name in ("state", "answer", "about")}
    return Standing(**texts, hints=int(record["hints"]))
