"""Sentences about what a run left unfinished, and why."""

from __future__ import annotations

from collections.abc import Iterable

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.core.work import RUNAWAY_SECONDS
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

_SLOW = f"after {RUNAWAY_SECONDS:.0f} s because the calls are slow"
_UNFINISHED = f"the search for {{}} was stopped {_SLOW}"


def searches_unfinished(results: Iterable[LawResult]) -> list[str]:
    """Return a sentence about the laws whose counterexamples may not be the smallest."""
    names = ", ".join(result.law.id for result in results if result.cut_short)
    return [_UNFINISHED.format(f"a smaller counterexample of {names}")] if names else []


def diagnoses_unfinished(diagnoses: Iterable[Diagnosis], reason: str = "") -> list[str]:
    """Return sentences: which searches for a mistake met a problem, and which did not try every mistake.

    `reason` says why, where it is not that calls are slow.
    """
    diagnoses = tuple(diagnoses)
    problems = [diagnosis.problem for diagnosis in diagnoses if diagnosis.problem]
    names = ", ".join(diagnosis.operation for diagnosis in diagnoses if diagnosis.cut_short)
    why = f"because {reason}" if reason else _SLOW
    return [*problems, *([f"the search for the mistake in {names} was stopped {why}"] if names else [])]


def interrupted_after(tried: int, total: int) -> str:
    """Return the sentence about a run that an interrupt ended."""
    return (
        f"interrupted after {tried:,} of {counted(total, 'law')}; the others were not tried, which says nothing of them"
    )


def ended_early(number: int) -> list[str]:
    """Return a sentence about the number of laws left when the first violation ended the run; none for 0."""
    if not number:
        return []
    return [f"the run ended at the first violation; {number} {'law was' if number == 1 else 'laws were'} not tried"]
