"""What is known of a rule: the sentence and the help that a list of results shows next to its name."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.mistakes.mistake import Mistake
from veriformer.spec.laws import LAWS, LawStatement

_MOST_CITATIONS = 5
# Rules that are neither a mistake nor a law.
_OTHERS = {
    "could_not_run": "An implementation could not be loaded or run, so that nothing is known of it.",
    "stale_expected_failure": "An entry of the list of expected failures is no longer true.",
    "not_recognised": "Too little of a model was recognised to judge it.",
    "implementations_differ": "Two implementations return different results on the same case.",
    "models_differ": "Two models differ, for a reason that is not a known mistake.",
}
_DEPARTS = "The model departs here from the Transformer that it otherwise is, in a way that is no known mistake."


@dataclass(frozen=True)
class Rule:
    """The name of a rule, what it is in a sentence, and what to read on."""

    name: str
    sentence: str
    help: str


def rule(name: str) -> Rule:
    """Return what is known of a rule."""
    if name in LAWS:
        return _of_law(LAWS[name])
    known = catalogue().get(name)
    if known is not None:
        return _of_mistake(known)
    sentence = _OTHERS.get(name, _DEPARTS)
    return Rule(name, sentence, sentence)


def _of_law(law: LawStatement) -> Rule:
    help_lines = (law.statement, f"Formula: {law.formula}", f"Read on: veriformer explain {law.id}")
    return Rule(law.id, law.statement, "\n".join(help_lines))


def _of_mistake(known: Mistake) -> Rule:
    reports = [citation.issue for citation in known.citations]
    help_lines = [
        _ended(known.sentence),
        f"Hidden when: {known.hidden_when}" if known.hidden_when else "",
        f"Met in: {first_few(reports, _MOST_CITATIONS)}" if reports else "",
        f"Read on: veriformer explain {known.slug}",
    ]
    return Rule(known.slug, _ended(known.sentence), "\n".join(filter(None, help_lines)))


def _ended(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
