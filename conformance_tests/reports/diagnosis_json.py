"""Diagnoses as JSON: one object for each mistake, with mistakes made together next to each other."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.diagnosis.explanation import Explanation, explanations, hidden_conventions
from veriformer.conformance_tests.reports.diagnoses import findings_of
from veriformer.conformance_tests.run.report import Report


def diagnosis_as_json(report: Report) -> list[dict[str, Any]]:
    """Return the mistakes of the whole run, the most certain first."""
    found = [
        {**entry, "laws": list(diagnosis.laws)}
        for diagnosis in report.diagnoses
        for entry in _entries(report, diagnosis)
    ]
    return sorted(found, key=lambda entry: -entry["confidence"])


def law_diagnosis_as_json(report: Report, result: LawResult) -> list[dict[str, Any]]:
    """Return the mistakes that explain why one law does not hold; none for a law that holds."""
    return [
        entry
        for diagnosis in report.diagnoses
        if result.law.id in diagnosis.laws
        for entry in _entries(report, diagnosis)
    ]


def _entries(report: Report, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    findings = findings_of(report, diagnosis.operation)
    return [
        {
            **_entry(diagnosis, suspect, one),
            "conventions": dict(hidden_conventions(diagnosis.operation, suspect, findings)),
        }
        for suspect in diagnosis.suspects
        for one in explanations(diagnosis.operation, suspect, findings)
    ]


def _entry(diagnosis: Diagnosis, suspect: Suspect, one: Explanation) -> dict[str, Any]:
    return {
        "mistake": one.name,
        "summary": one.sentence,
        "confidence": suspect.confidence,
        "operation": diagnosis.operation,
        "how": diagnosis.how,
        "together_with": [name for name in suspect.mistakes if name != one.name],
        "changes": dict(one.changes),
        "recorded": one.recorded,
        "citations": list(one.citations),
        "hidden_when": one.hidden_when,
        "separated_by": diagnosis.separated_by,
        "unexplained": list(diagnosis.unexplained),
    }
