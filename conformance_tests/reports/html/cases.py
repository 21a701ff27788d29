"""The smallest case on which a law fails, drawn: the arguments, who may see whom, expected and got, the error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord, standard_conventions
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.reports.arrays import drawn, shape_of
from veriformer.conformance_tests.reports.difference import error_sentence
from veriformer.conformance_tests.reports.grids import (
    argument_grids,
    comparison_grids,
    drawable,
    error_bar,
    sight_grids,
)
from veriformer.conformance_tests.reports.html.blocks import Block, Code, Drawing, Facts, Fold, Prose, Sentence
from veriformer.conformance_tests.reports.html.data import LONGEST_TEXT
from veriformer.conformance_tests.reports.sight import seen
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.reports.violation import EAGER_ALLOWS, changed_arguments, conventions_of
from veriformer.conformance_tests.run.report import Report
from veriformer.pictures.from_arrays import masks
from veriformer.pictures.model import Picture, Row
from veriformer.spec.operations import Operation

_MOST_CALLS = 2
_HIDING = {"is_causal", "window", "bias"}
_ORDINALS = ("first", "second")
_WIDTH = 80
_LONGEST_WORDS = 2000


def case_blocks(report: Report, result: LawResult) -> list[Block]:
    """Return everything about the case on which a law fails; nothing where there is none."""
    counterexample = result.counterexample
    if counterexample is None:
        return []
    # Where a mistake shows a query other keys, that says more than any number.
    found = seen(report, result)
    sights = [Drawing(masks("Which keys each query sees", *found))] if found else []
    outcome = _outcome(counterexample, result.law.operation)
    blocks: list[Block] = [*_facts(counterexample), *sights, *outcome]
    blocks += [] if sights else _sight(report, counterexample)
    for number, record in enumerate(counterexample.calls[:_MOST_CALLS]):
        blocks += _call(number, counterexample, record, result.law.operation)
    if (left := len(counterexample.calls) - _MOST_CALLS) > 0:
        blocks.append(Prose(f"… and {counted(left, 'more call')}", "quiet"))
    return blocks


def script_blocks(report: Report, result: LawResult) -> list[Block]:
    """Return the script that reproduces a violation, behind a fold."""
    if result.counterexample is None or not result.counterexample.calls:
        return []
    text = reproduce(
        target(report),
        report.framework,
        result.counterexample,
        conventions=conventions_of(report, result.law.operation.name),
        law=result.law.id,
        taken_as=report.taken_as,
    )
    if len(text) > LONGEST_TEXT:
        return [Prose("The script that reproduces it is long: --json FILE and --verbose have it.", "quiet")]
    without = "" if "veriformer" in text else " without Veriformer"
    return [Fold(f"A script that reproduces it{without}", (Code(text, copies=True),))]


def _facts(counterexample: Counterexample) -> Iterator[Block]:
    pairs: list[tuple[str, str]] = []
    if counterexample.case is not None:
        pairs.append(("smallest case", Sentence(counterexample.case.describe())))
    if counterexample.verdict.note:
        pairs.append(("where", plain(counterexample.verdict.note, _LONGEST_WORDS)))
    if counterexample.eager_allows:
        pairs.append(("numerics", EAGER_ALLOWS))
    if pairs:
        yield Facts(tuple(pairs))


def _outcome(counterexample: Counterexample, operation: Operation) -> Iterator[Block]:
    verdict = counterexample.verdict
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        said = (("expected", verdict.expected), ("got", verdict.actual))
        yield Facts(tuple((label, plain(value, _LONGEST_WORDS)) for label, value in said))
        return
    for row in comparison_grids(verdict.expected, verdict.actual, verdict.wrong, operation, verdict.note):
        yield Drawing(row)
    bar = error_bar(verdict)
    if bar is not None:
        yield Drawing(bar)
    if bar is None or np.size(verdict.wrong) > 1:
        yield Facts((("error", error_sentence(verdict)),))


def _sight(report: Report, counterexample: Counterexample) -> Iterator[Block]:
    """Yield which keys each query may see in the last call that hides any, where no mask alone says it."""
    for record in reversed(counterexample.calls):
        if not record.arguments.keys() & _HIDING:
            continue
        visible = _visible(report, record)
        grids = [] if visible is None else sight_grids("Which keys each query may see", visible)
        if grids:
            yield Drawing(grids[0] if len(grids) == 1 else Row("", tuple(grids)))
            return


def _visible(report: Report, record: CallRecord) -> Array | None:
    """Return who may see whom in a call, (B, H, L, S); None where the operation knows nothing of it."""
    found = getattr(record.inputs, "visible", None)
    try:
        if callable(found):
            found = found({**standard_conventions(), **conventions_of(report, record.operation)})
    except ValueError:
        # The reference refuses some of the arguments that a law tries.
        return None
    if not isinstance(found, np.ndarray) or found.dtype != bool:
        return None
    return found[:, None] if found.ndim == 3 else found


def _call(number: int, counterexample: Counterexample, record: CallRecord, operation: Operation) -> Iterator[Block]:
    several = len(counterexample.calls) > 1
    before = counterexample.calls[number - 1] if number else None
    title = f"The {_ORDINALS[number]} call" if several else "The call"
    yield from argument_blocks(title, changed_arguments(record, before), operation)


def argument_blocks(title: str, arguments: list[tuple[str, Any]], operation: Operation) -> Iterator[Block]:
    """Yield the arguments of a call: small arrays drawn side by side, the others in words."""
    in_words = tuple(
        (plain(name), plain(" ".join(drawn(operation, name, value, _WIDTH)), _LONGEST_WORDS))
        for name, value in arguments
        if not drawable(value)
    )
    pictures: list[Picture] = [
        grid
        for name, value in arguments
        if drawable(value)
        for grid in argument_grids(name, value, shape_of(operation, name))
    ]
    if pictures:
        yield Drawing(Row(title, tuple(pictures)))
    else:
        yield Prose(title if arguments else f"{title}, with the same arguments", "quiet")
    if in_words:
        yield Facts(in_words)
