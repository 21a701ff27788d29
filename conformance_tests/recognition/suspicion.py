"""Mistakes that can be told of one part alone, without its siblings."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.recognition.findings import StepName, Suspected
from veriformer.conformance_tests.recognition.naming import Named

CERTAIN = 1.0
LIKELY = 0.8


@dataclass(frozen=True)
class Suspicion:
    """One departure of a part: the step, where it is in the trace, what it does there, and which mistakes do that.

    `path` is the module that departs, where it is another than the part itself, such as the norm before a sublayer.
    """

    step: StepName
    place: int
    sentence: str
    suspects: tuple[Suspected, ...]
    path: str = ""


def suspected(name: str, confidence: float = CERTAIN, sentence: str = "") -> Suspected:
    """Return a mistake by its slug, with what the catalogue says of it."""
    known = catalogue().get(name)
    if known is None:
        return Suspected(name, sentence, confidence)
    return Suspected(name, known.sentence, confidence, tuple(citation.issue for citation in known.citations))


def of_named(found: tuple[Named, ...]) -> tuple[Suspected, ...]:
    """Return mistakes found by computing them; several that give the same are as likely as each other."""
    return tuple(suspected(one.name, CERTAIN / len(found), one.sentence) for one in found)
