"""The three hints about an answer: the law with its smallest case, a question, the mistake.

The first two never say what is wrong, let alone how to put it right; the third names the mistake and the derivation of
the law, but shows no line of a right program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from veriformer.lessons.outcome import Outcome
from veriformer.lessons.questions import question_about

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.counterexample import Counterexample

Layer = Literal[1, 2, 3]
LAYERS: tuple[Layer, ...] = (1, 2, 3)


@dataclass(frozen=True)
class Mistaken:
    """What is known of a mistake that an answer makes, for the third hint."""

    slug: str
    sentence: str
    effect: str
    hidden_when: str
    met_in: tuple[str, ...]


@dataclass(frozen=True)
class Hints:
    """The hints about a broken law.

    `counterexample` is the smallest case, in fractions where there is one. `several` says that two mistakes are made
    together. `derivation` is its id and the names of the steps that prove the law, or empty.
    """

    outcome: Outcome
    counterexample: Counterexample | None
    question: str
    mistakes: tuple[Mistaken, ...]
    several: bool
    derivation: str
    steps: tuple[str, ...]


def hints_of(outcome: Outcome, counterexample: Counterexample | None = None) -> Hints:
    """Return the hints about an outcome; ValueError where no law is broken."""
    if outcome.law is None:
        raise ValueError(f"{outcome.exercise.id} breaks no law, so that there is nothing to hint at")
    claim = outcome.law.law.claim
    return Hints(
        outcome,
        counterexample or outcome.law.counterexample,
        question_about(outcome.mistakes, f"error:{outcome.law.reason}" if outcome.law.status == "error" else claim.key),
        tuple(_mistaken(slug) for slug in outcome.mistakes),
        len(outcome.mistakes) > 1,
        claim.background or "",
        claim.steps,
    )


def with_readable_case(outcome: Outcome, answer: object, seed: int = 0) -> Hints:
    """Return the hints about an outcome, with a case in fractions where one is found.

    `answer` is a file, loaded again in a process of its own, or what was handed over.
    """
    if outcome.law is None or outcome.law.status != "failed":
        return hints_of(outcome)
    from veriformer.adapters.errors import LoadError
    from veriformer.lessons.checking import implementation_of
    from veriformer.lessons.smallest import readable_counterexample, unread_numbers

    try:
        implementation = implementation_of(answer, outcome.exercise)
    except LoadError:
        return hints_of(outcome)
    try:
        found = readable_counterexample(implementation, outcome.law.law.id, seed)
    finally:
        implementation.close()
    known = outcome.law.counterexample
    if found is None or (known is not None and unread_numbers(found.verdict) >= unread_numbers(known.verdict)):
        return hints_of(outcome)
    return hints_of(outcome, replace(found, eager_allows=False))


def _mistaken(slug: str) -> Mistaken:
    from veriformer.conformance_tests.mistakes import catalogue

    found = catalogue().get(slug)
    if found is None:
        return Mistaken(slug, _meaning_of_choice(slug), "", "", ())
    issues = tuple(citation.issue for citation in found.citations)
    return Mistaken(slug, found.sentence, found.effect, found.hidden_when, issues)


def _meaning_of_choice(name: str) -> str:
    """Return what a choice in a decision is, `decision=choice`, where no recorded mistake is one."""
    from veriformer.conformance_tests.operations.decisions import decisions_named

    decision, _, taken = name.partition("=")
    options = (option for known in decisions_named(decision) for option in known.options if option.name == taken)
    return next((option.meaning for option in options if option.meaning), name.replace("_", " "))
