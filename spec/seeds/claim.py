"""The record of one claim of a seed document, and its verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ClaimVerdict(StrEnum):
    """The verdict on a claim. The verdict on a printed number is another type: `worked_examples.Verdict`.

    CORRECT: right as it stands. CONDITIONAL: right under a condition that the document does not state. IMPRECISE:
    right in what it means, not in what it says. WRONG: an erratum.
    """

    CORRECT = "correct"
    CONDITIONAL = "conditional"
    IMPRECISE = "imprecise"
    WRONG = "wrong"


@dataclass(frozen=True)
class ProofStep:
    """One step of a derivation, by the name it has there."""

    derivation: str
    name: str


@dataclass(frozen=True)
class Claim:
    """One claim: its place, the verdict, the correct statement, and what decides it.

    `fragment` is verbatim text of the document that begins on `line`; `passage` is the text around it. `exact` is the
    correct statement, to the digits shown, or empty if the claim is right as it stands. Laws, steps of derivations and
    worked examples decide the claim, by their ids; `reason` says why, if none of them does.
    """

    id: str
    line: int
    fragment: str
    passage: str
    verdict: ClaimVerdict
    exact: str = ""
    laws: tuple[str, ...] = ()
    steps: tuple[ProofStep, ...] = ()
    examples: tuple[str, ...] = ()
    reason: str = ""

    @property
    def document(self) -> str:
        """The document's number, with which the id begins."""
        return self.id.partition(".")[0]

    @property
    def source(self) -> str:
        """The place of the claim."""
        return f"seed document {self.document}, line {self.line}"

    @property
    def derivations(self) -> tuple[str, ...]:
        """The derivations whose steps decide the claim, each once."""
        return tuple(dict.fromkeys(step.derivation for step in self.steps))
