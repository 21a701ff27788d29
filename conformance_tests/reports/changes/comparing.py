"""What changed from an old report to a new one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.changes.recorded import Outcome, Outcomes, Recorded, Status

What = Literal["newly broken", "mended", "otherwise named", "no longer tried"]
WHATS: tuple[What, ...] = ("newly broken", "mended", "otherwise named", "no longer tried")
_NOTHING = Outcome("untried")


class NotComparable(Exception):
    """Two reports are of different kinds."""


@dataclass(frozen=True)
class Change:
    """One thing that changed: a law, a departure, an operation or a convention of `subject`."""

    what: What
    subject: str
    name: str
    old: Outcome
    new: Outcome


@dataclass(frozen=True)
class Changes:
    """All that changed, in the order of the new report; `passages` counts things by what they were and are."""

    changes: tuple[Change, ...]
    passages: Counter[tuple[Status, Status]]
    notices: tuple[str, ...] = ()

    def of(self, what: What) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.what == what)

    @property
    def exit_status(self) -> int:
        """1 where something is newly broken, else 0."""
        return 1 if self.of("newly broken") else 0

    @property
    def sentence(self) -> str:
        """What changed, in one sentence."""
        counts = [f"{len(found)} {what}" for what in WHATS if (found := self.of(what))]
        still = self.passages["broken", "broken"]
        rest = f"{still} still broken" if still else ""
        return ", ".join(filter(None, [*counts, rest])) or "Nothing changed, and nothing is broken"


def changes_between(old: Recorded, new: Recorded) -> Changes:
    """Return what changed; NotComparable for reports of different kinds.

    Where each has one subject these are compared whatever they are called, since files are renamed.
    """
    if old.kind != new.kind:
        raise NotComparable(f"the old report is of veriformer {old.kind}, the new one of veriformer {new.kind}")
    pairs, notices = _paired(old, new)
    changes: list[Change] = []
    passages: Counter[tuple[Status, Status]] = Counter()
    for name, (before, after) in pairs.items():
        for key in dict.fromkeys((*after, *before)):
            one, other = _outcomes(before.get(key), after.get(key))
            passages[one.status, other.status] += 1
            if what := _what(one, other):
                changes.append(Change(what, name, key, one, other))
    return Changes(tuple(changes), passages, notices)


def _paired(old: Recorded, new: Recorded) -> tuple[dict[str, tuple[Outcomes, Outcomes]], tuple[str, ...]]:
    """Return the outcomes of each subject that both have, and sentences about the others."""
    if len(old.subjects) == len(new.subjects) == 1:
        (before, its), (after, own) = *old.subjects.items(), *new.subjects.items()
        differ = f"the reports are of two different things: {plain(before)}, then {plain(after)}"
        return {after: (its, own)}, () if before == after else (differ,)
    pairs = {name: (old.subjects[name], own) for name, own in new.subjects.items() if name in old.subjects}
    gone = [f"{plain(name)} is in the old report only" for name in old.subjects if name not in new.subjects]
    come = [f"{plain(name)} is in the new report only" for name in new.subjects if name not in old.subjects]
    return pairs, (*gone, *come)


def _outcomes(before: Outcome | None, after: Outcome | None) -> tuple[Outcome, Outcome]:
    """Return both outcomes, with what its absence means in place of one that is not there."""
    if before is None:
        before = Outcome(after.absent) if after else _NOTHING
    if after is None:
        after = Outcome(before.absent)
    return before, after


def _what(old: Outcome, new: Outcome) -> What | None:
    if new.status == "broken" and old.status != "broken":
        return "newly broken"
    if new.status == "untried" and old.status != "untried":
        return "no longer tried"
    if new.status == "held" and old.status == "broken":
        return "mended"
    if new.status != "untried" and old.status == new.status and old.named != new.named:
        return "otherwise named"
    return None
