"""Who sees whom: the keys that each query should see on the smallest case, and those that the mistake shows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.formula import ATTENTION, seen_at
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.reports.diagnoses import findings_of
from veriformer.conformance_tests.reports.layout import INDENT, LABEL, Lines, beside
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.variants.family import NotDefined, Point
from veriformer.pictures.from_arrays import masks
from veriformer.pictures.terminal import lines

# Larger pictures say less at a glance than the smallest case in words.
_MOST_PLACES = 8


def sight(report: Report, result: LawResult, width: int) -> Lines:
    """Return who sees whom on the smallest case of a law, as it should be and with the mistake; nothing if equal."""
    found = seen(report, result)
    if found is None:
        return []
    picture = lines(masks("", *found), width - INDENT - LABEL)
    return beside("who sees whom", picture)


def seen(report: Report, result: LawResult) -> tuple[Array, Array] | None:
    """Return which key each query should see and sees, (L, S), where one mistake is known and makes them differ."""
    suspect, operation = _suspect(report, result), result.law.operation.name
    if suspect is None or result.counterexample is None or family_of(operation) is not ATTENTION:
        return None
    base = ATTENTION.under({name: finding.value for name, finding in findings_of(report, operation).items()})
    return _first_difference(result.counterexample.calls, base, base.changed(*suspect.changes))


def _suspect(report: Report, result: LawResult) -> Suspect | None:
    """Return the only suspect of an operation whose outputs are those of the mistake."""
    for diagnosis in report.diagnoses:
        if diagnosis.operation == result.law.operation.name and diagnosis.how == "reproduced":
            return diagnosis.suspects[0] if len(diagnosis.suspects) == 1 else None
    return None


def _first_difference(calls: Sequence[CallRecord], expected: Point, mistaken: Point) -> tuple[Array, Array] | None:
    for call in calls:
        try:
            due, got = (seen_at(call.arguments, point) for point in (expected, mistaken))
        except NotDefined:
            continue
        for sample, head in np.argwhere((due != got).any(axis=(-1, -2))):
            if max(due.shape[-2:]) <= _MOST_PLACES:
                return due[sample, head], got[sample, head]
    return None
