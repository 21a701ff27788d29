"""Each refusal said once: it is the error of the law that is most about it, and the other laws go on without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from veriformer.conformance_tests.core.law_result import LawResult

# A law of which every case is refused is about nothing else.
_WHOLLY = 100

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.law import Law
    from veriformer.conformance_tests.core.subject import Refused
    from veriformer.conformance_tests.search.search import Search


def with_refusals(law: Law, result: LawResult, search: Search) -> LawResult:
    """Return the error of a law that met refusals, and what it came to without them; declared ones are no error."""
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
    """Return how much of what is refused the law is about, by its id and by the keywords that it needs."""
    about = (*law.statement.features, *law.statement.claim.key.split("."))
    return sum(topic in about for topic in refusal.topics)


def described_once(results: list[LawResult]) -> list[LawResult]:
    """Return the results in which every refusal is the error of one law, which is most about it.

    Between laws alike in that it is the first of the catalogue; one that fails for another reason is not chosen where
    there are others. A law that met what is another's error has the result that it came to without it.
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
    """Return what a law came to without what is refused."""
    if result.otherwise is None:
        return result
    return replace(result.otherwise, seconds=result.seconds, printed=result.printed, notices=result.notices)
