"""Each refusal is reported once, as the error of the law that is most about it; others are judged without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from veriformer.conformance_tests.core.law_result import LawResult

# A law whose every case is refused is about the refusal more than any other.
_WHOLLY = 100

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.law import Law
    from veriformer.conformance_tests.core.subject import Refused
    from veriformer.conformance_tests.search.search import Search


def with_refusals(law: Law, result: LawResult, search: Search) -> LawResult:
    """Return the error of a law that met refusals, with its result without them; declared refusals are no error."""
    refused = sorted((one for one in search.refused if not one.declared), key=lambda one: one.sentence)
    if not refused:
        return result
    wholly = result.status == "not_declared"
    example = search.example_of(refused[0])
    return LawResult(
        result.law,
        "error",
        result.cases,
        counterexample=search.counterexample(example) if example.case is not None else None,
        reason="; ".join(refusal.words for refusal in refused),
        traceback=example.traceback,
        refused={refusal.sentence: _WHOLLY * wholly + _topics(law, refusal) for refusal in refused},
        otherwise=result,
        notices=result.notices,
    )


def _topics(law: Law, refusal: Refused) -> int:
    """Return how many topics of a refusal the law is about, by its id and by the keywords that it needs."""
    about = (*law.statement.features, *law.statement.claim.key.split("."))
    return sum(topic in about for topic in refusal.topics)


def described_once(results: list[LawResult]) -> list[LawResult]:
    """Return the results in which every refusal is the error of one law, the one that is most about it.

    Of several it is the first in the catalogue, and one that fails for another reason only where all do. Every other
    law that met the refusal has the result that it has without it.
    """
    speaking: set[str] = set()
    for sentence in dict.fromkeys(sentence for result in results for sentence in result.refused):
        met = [result for result in results if sentence in result.refused]
        speaking.add(max(met, key=lambda result: _aboutness(result, sentence)).law.id)
    return [result if result.law.id in speaking else without_refusals(result) for result in results]


def _aboutness(result: LawResult, sentence: str) -> tuple[bool, int]:
    holds = result.otherwise is None or result.otherwise.status in ("passed", "not_declared")
    return holds, result.refused[sentence]


def unsaid(results: Iterable[LawResult]) -> list[str]:
    """Return a sentence for each choice that an operation does not offer, where no law's error says so."""
    results = list(results)
    said = {sentence for result in results for sentence in result.refused}
    notices = dict.fromkeys(notice for result in results for notice in result.notices)
    return [notice for notice in notices if notice.partition(";")[0] not in said]


def without_refusals(result: LawResult) -> LawResult:
    """Return the result of a law without the cases that are refused."""
    if result.otherwise is None:
        return result
    return replace(result.otherwise, seconds=result.seconds, printed=result.printed, notices=result.notices)
