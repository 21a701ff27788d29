"""The record of a mistake that people make, and of each planted form."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal

from veriformer.conformance_tests.mistakes.files import read_source
from veriformer.spec.laws import LAWS

_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@dataclass(frozen=True)
class Citation:
    """A public report of a mistake; `evidence` says how it was resolved. ValueError if `issue` names none."""

    issue: str
    title: str
    symptom: str
    evidence: str

    def __post_init__(self) -> None:
        if not _ISSUE.fullmatch(self.issue):
            raise ValueError(f"{self.issue!r} is no issue; expected owner/name#number")

    @property
    def url(self) -> str:
        """The address of the report."""
        repository, _, number = self.issue.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


@dataclass(frozen=True)
class PlantedMistake:
    """A passage of a correct source, the mistaken passage, and the laws that must fail.

    `right` occurs in the source once. `summary` says what goes wrong, if the catalogue has no sentence for the slug.
    With `errors`, a call of the mistaken program raises or returns a result that cannot be judged: its laws end with an
    error and not with a counterexample, which is a violation as well. `number` counts mistakes that would have the same
    name.
    """

    slug: str
    source: str
    right: str
    wrong: str
    laws: tuple[str, ...]
    summary: str = ""
    errors: bool = False
    number: int = 1

    @property
    def status(self) -> Literal["failed", "error"]:
        """The status of each of its laws in a report on the mistaken program."""
        return "error" if self.errors else "failed"

    @property
    def name(self) -> str:
        """Its name among all planted mistakes, which is unique."""
        name = f"{self.laws[0]}-{self.slug}-{self.framework}"
        return name if self.number == 1 else f"{name}-{self.number}"

    @property
    def framework(self) -> str:
        """The framework of the source: numpy, torch or jax."""
        return self.source.rpartition("_")[2]

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations of the laws, each once."""
        return operations_of(self.laws)

    def correct_text(self) -> str:
        """Return the program without the mistake, which conforms."""
        return read_source(self.source)

    def source_text(self) -> str:
        """Return the program with the mistake; ValueError where the passage does not occur in the source once."""
        return changed_text(self.source, self.right, self.wrong)

    def changed_lines(self) -> tuple[str, ...]:
        """Return the lines that differ: those of the correct program after `- `, the mistaken ones after `+ `."""
        texts = (self.correct_text().splitlines(), self.source_text().splitlines())
        # The first two lines are the names of the files.
        changes = [line for line in list(unified_diff(*texts, n=0, lineterm=""))[2:] if not line.startswith("@@")]
        code = textwrap.dedent("\n".join(line[1:] for line in changes)).split("\n")
        return tuple(f"{change[0]} {line}" for change, line in zip(changes, code, strict=True))


@dataclass(frozen=True)
class Equivalence:
    """Where a mistake changes nothing, the step of a derivation that proves it, and a program that shows it.

    The program is that of `source` with `right` replaced by `wrong`. It conforms: its results differ from the source's
    by rounding alone.
    """

    slug: str
    where: str
    derivation: str
    step: str
    source: str
    right: str
    wrong: str

    def source_text(self) -> str:
        """Return the program with the mistake; ValueError where the passage does not occur in the source once."""
        return changed_text(self.source, self.right, self.wrong)


def changed_text(source: str, right: str, wrong: str) -> str:
    """Return a source with a passage replaced; ValueError where it does not occur once."""
    return changed(read_source(source), right, wrong, source)


def changed(text: str, right: str, wrong: str, source: str) -> str:
    """Return the text of a source with a passage replaced; ValueError where it does not occur once."""
    if (occurrences := text.count(right)) != 1:
        raise ValueError(f"{right!r} must occur once in {source}; it occurs {occurrences} times")
    return text.replace(right, wrong)


@dataclass(frozen=True)
class Mistake:
    """A mistake: what goes wrong, what hides it, its effect on a model, the reports, and its planted forms.

    `formula` is the mistaken line in NumPy. `hidden_when` and `effect` are empty if nothing is known. A mistake without
    citations is of the same sort as the reported ones. One that is not planted has a `reason`. One with an
    `equivalence` is planted where it shows, and changes nothing where the equivalence holds. `regions` are the named
    regions of the case space in which it shows (the topics' `regions`), none where no case shows it.
    """

    slug: str
    sentence: str
    group: str = ""
    formula: str = ""
    hidden_when: str = ""
    effect: str = ""
    citations: tuple[Citation, ...] = ()
    planted: tuple[PlantedMistake, ...] = ()
    reason: str = ""
    equivalence: Equivalence | None = None
    regions: tuple[str, ...] = ()

    @property
    def laws(self) -> tuple[str, ...]:
        """The ids of the laws that catch it, each once, in the order of the specification."""
        caught = {law for planted in self.planted for law in planted.laws}
        return tuple(law for law in LAWS if law in caught)

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations in which it is caught, each once."""
        return operations_of(self.laws)


def operations_of(laws: tuple[str, ...]) -> tuple[str, ...]:
    """Return the operations of some laws, each once; KeyError if there is no such law."""
    return tuple(dict.fromkeys(LAWS[law].operation.name for law in laws))
