"""The list of failures that a project knows about and has reasons for.

Each line has one failure: a law's id, then `#` and the reason. An implementation's name and a colon may precede the id,
for a run over several. An entry that no longer fails, or names no law, is stale and makes the run fail, because it
would hide the next failure. If the seed decides whether a case meets the fault, the reason begins with "at some seeds",
and the entry is not stale when the law holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from veriformer.conformance_tests.core.law_result import LawResult, Status, is_broken
from veriformer.spec.laws import LAWS

_AT_SOME_SEEDS = "at some seeds"


class UnreadableList(ValueError):
    """The file of expected failures cannot be read or has a malformed line."""


@dataclass(frozen=True)
class Entry:
    """One line of the list."""

    law: str
    reason: str
    implementation: str | None = None
    line: int = 0

    @property
    def stale_statuses(self) -> tuple[Status, ...]:
        """The statuses of the law that contradict the entry."""
        may_hold = self.reason.startswith(_AT_SOME_SEEDS)
        return ("not_declared",) if may_hold else ("passed", "not_declared")


@dataclass(frozen=True)
class ExpectedFailures:
    """All lines of a list."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> ExpectedFailures:
        """Read a list; UnreadableList when there is none or a line has no reason."""
        try:
            # Some editors begin a file with a byte-order mark.
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableList(f"cannot read the expected failures in {path}: {error}") from error
        numbered = ((number, line.strip()) for number, line in enumerate(lines, 1))
        return cls(tuple(_entry(path, number, line) for number, line in numbered if line and line[0] != "#"))

    @classmethod
    def of(cls, given: ExpectedFailures | Path | str | None) -> ExpectedFailures:
        """Return the list that is given or that a file holds, an empty one for None; UnreadableList as `read`."""
        if given is None:
            return cls()
        return given if isinstance(given, ExpectedFailures) else cls.read(Path(given))

    def about(self, implementation: str) -> tuple[Entry, ...]:
        """Return the entries about an implementation: those that name it, or none."""
        return tuple(entry for entry in self.entries if entry.implementation in (None, implementation))

    def reason(self, implementation: str, result: LawResult) -> str | None:
        """Return the reason given for a failing law, or None when its failure is not expected."""
        if not is_broken(result):
            return None
        return next((entry.reason for entry in self.about(implementation) if entry.law == result.law.id), None)

    def stale(self, implementation: str, results: Iterable[LawResult]) -> tuple[str, ...]:
        """Return a sentence for each entry about this implementation that contradicts the results."""
        statuses = {result.law.id: result.status for result in results}
        sentences = []
        for entry in self.about(implementation):
            if entry.law not in LAWS:
                sentences.append(f"line {entry.line}: no law is called {entry.law!r}; remove the line")
            elif statuses.get(entry.law) in entry.stale_statuses:
                status = statuses[entry.law].replace("_", " ")
                sentences.append(f"line {entry.line}: {entry.law} is expected to fail but is {status}; remove the line")
        return tuple(sentences)


def _entry(path: Path, number: int, line: str) -> Entry:
    subject, separator, reason = line.partition("#")
    if not separator or not reason.strip() or len(subject.split()) != 1:
        raise UnreadableList(f"{path}, line {number}: expected 'LAW_ID  # reason', found {line!r}")
    implementation, colon, law = subject.strip().rpartition(":")
    return Entry(law, reason.strip(), implementation if colon else None, number)
