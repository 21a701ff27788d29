"""The outcome of comparing two implementations, or two whole models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.comparison.comparison import Comparison, OperationComparison
from veriformer.conformance_tests.core.text import first_few, joined
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.ports.findings import Difference, PairStatus, PortComparison
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem, Status, Table
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.locations import Place, definition
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.partings import certain_mistakes, parting
from veriformer.conformance_tests.reports.port_places import changes, gathered, place_of, sentences
from veriformer.conformance_tests.reports.ports import verdict_sentence
from veriformer.conformance_tests.reports.two_implementations import outcome_words, summary

_STATUSES: dict[PairStatus, Status] = {
    "same": "passed",
    "inside": "passed",
    "differs": "failed",
    "unmatched": "skipped",
}


def comparison_outcome(comparison: Comparison) -> Outcome:
    """Return the outcome of comparing two implementations of operations."""
    words = {one.operation.name: outcome_words(one, comparison) for one in comparison.operations}
    rows = tuple((one.operation.name, f"{one.cases:,}", words[one.operation.name]) for one in comparison.operations)
    both = f"{comparison.first} and {comparison.second}"
    return Outcome(
        both,
        _sentence(comparison),
        comparison.verdict == "agree",
        joined([*dict.fromkeys(comparison.frameworks), f"seed {comparison.seed}", f"tier {comparison.tier}"]),
        tuple(_operations(comparison, words)),
        tuple(_differing(comparison, words)),
        Table(("operation", "cases", "outcome"), rows) if rows else None,
        comparison.notices,
        comparison.seconds,
    )


def _sentence(comparison: Comparison) -> str:
    first, second = comparison.first, comparison.second
    differing = [one.operation.name for one in comparison.compared if not one.agrees]
    said = f"differs from {first} in {first_few(differing)}" if differing else f"agrees with {first}"
    return f"{second} {said}: {summary(comparison)}"


def _operations(comparison: Comparison, words: dict[str, str]) -> Iterator[Checked]:
    for one in comparison.operations:
        name = one.operation.name
        status: Status = "passed" if one.agrees else "failed"
        if one.reason:
            status = "error" if one.unjudged else "skipped"
        place = definition(comparison.sources[1], one.functions[1]) if status == "failed" else None
        said = "" if status == "passed" else words[name]
        yield Checked("compare", name, status, said, _text(comparison, one), place=place)


def _text(comparison: Comparison, operation: OperationComparison) -> str:
    return "\n".join(as_text(parting(comparison, operation, one, Options())) for one in operation.differences)


def _differing(comparison: Comparison, words: dict[str, str]) -> Iterator[Problem]:
    for one in comparison.compared:
        if one.agrees:
            continue
        name = one.operation.name
        mistakes = certain_mistakes(one, 1)
        said = [f"{name}: {words[name]}", *one.changes.values(), *(f"it makes the mistake {each}" for each in mistakes)]
        rule = next((each for each in mistakes if each in catalogue()), "implementations_differ")
        place = definition(comparison.sources[1], one.functions[1])
        yield Problem(rule, "error", "; ".join(said), name, place, text=_text(comparison, one))


def ports_outcome(found: PortComparison) -> Outcome:
    """Return the outcome of comparing two whole models."""
    groups = gathered(found.differences)
    rows = tuple((one.path_a or "–", one.path_b or "–", one.role, one.status) for one in found.pairs)
    return Outcome(
        f"{found.first} and {found.second}",
        verdict_sentence(found),
        found.verdict != "differ",
        joined(dict.fromkeys((*found.frameworks, *found.dtypes))),
        tuple(_pairs(found)),
        tuple(map(_difference, groups)),
        Table(("A", "B", "part", "status"), rows) if rows else None,
        found.notices,
        found.seconds,
    )


def _pairs(found: PortComparison) -> Iterator[Checked]:
    """Yield the results and each pair of parts; what no result shows does not fail."""
    yield Checked("compare", "results", "failed" if found.verdict == "differ" else "passed", verdict_sentence(found))
    for pair in found.pairs:
        status = _STATUSES[pair.status]
        said = "" if status == "passed" else pair.summary or pair.status
        if status == "failed" and found.verdict != "differ":
            status = "skipped"
        yield Checked(pair.role or "part", pair.path_b or pair.path_a or pair.role, status, said)


def _difference(group: Sequence[Difference]) -> Problem:
    one, where = group[0], place_of(group)
    file, line = (one.file_b, one.line_b) if one.file_b else (one.file_a, one.line_a)
    # Where only the first departs, the line of the second is right by itself.
    rule = one.cause.name if one.cause.name in catalogue() and one.departs != "A" else "models_differ"
    said = [*sentences(group), *(f"to do as A does: {change}" for change in changes(group))]
    place = Place(file, max(line, 1)) if file else None
    return Problem(rule, "error", f"{where}: {'; '.join(said)}", where, place)
