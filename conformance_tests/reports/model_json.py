"""What the JSON of a model has beside the keys of every report: its parts, its departures, how much was found."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.recognition.findings import Departure, Difference, Part, Suspected
from veriformer.conformance_tests.reports.departures import citations_of
from veriformer.conformance_tests.reports.diagnosis_json import diagnosis_as_json
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_report import ModelReport


def model_as_json(report: ModelReport) -> dict[str, Any]:
    """Return the further keys of a model, and `diagnosis` ranked over the whole model."""
    recognition = report.recognition
    departures = [_departure(one) for one in report.departures]
    diagnosis = [{**entry, "laws": []} for departure in departures for entry in departure["diagnosis"]]
    diagnosis += [entry for one in report.laws for entry in diagnosis_as_json(one.report)]
    return {
        "diagnosis": sorted(diagnosis, key=lambda entry: -entry["confidence"]),
        "dtype": recognition.dtype,
        "parts": [_part(part) for part in report.parts],
        "departures": departures,
        "differences": [_difference(one) for one in recognition.differences],
        "bound": [_bound(one) for one in report.laws if one.is_part],
        "share": {"found": recognition.share_found, "understood": recognition.share_understood},
        "unread": dict(recognition.unread),
        "agreed": list(recognition.agreed),
        "unused": list(recognition.unused),
        "opaque": dict(recognition.opaque),
        # As for an implementation that could not be loaded: only where there is something to say.
        **({"reason": report.reason} if report.reason else {}),
    }


def _bound(judged: Judged) -> dict[str, Any]:
    """Return a module that the laws of its operation were tried on; the results of these have its path."""
    return {
        "path": judged.path,
        "operation": judged.operation,
        "laws": [result.law.id for result in judged.report.results if result.status != "not_declared"],
        "broken": [result.law.id for result in judged.broken],
        "diagnosis": diagnosis_as_json(judged.report),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "path": part.path,
        "role": part.role,
        "layer": part.layer,
        "summary": part.summary,
        "conventions": dict(part.conventions),
        "status": part.status,
        "steps": {"explained": part.explained, "all": part.steps},
    }


def _difference(one: Difference) -> dict[str, Any]:
    at = one.as_departure
    return {
        "path": at.path,
        "layer": at.layer,
        "step": at.step,
        "operation": at.operation,
        "file": at.file,
        "line": at.line,
        "own": one.own,
        "usual": one.usual,
        "others": [{"path": path, "layer": layer} for path, layer in one.others],
    }


def _departure(one: Departure) -> dict[str, Any]:
    return {
        "path": one.path,
        "layer": one.layer,
        "step": one.step,
        "operation": one.operation,
        "file": one.file,
        "line": one.line,
        "sentence": one.sentence,
        "diagnosis": [_suspect(suspect, one.operation) for suspect in one.suspects],
    }


def _suspect(suspect: Suspected, operation: str) -> dict[str, Any]:
    """Return a suspect with the keys that a diagnosis of an operation has."""
    known = catalogue().get(suspect.name)
    return {
        "mistake": suspect.name,
        "summary": suspect.sentence,
        "confidence": suspect.confidence,
        "operation": operation,
        "how": "reproduced",
        "together_with": [],
        "changes": {},
        "conventions": {},
        "recorded": known is not None,
        "citations": list(citations_of(suspect)),
        "hidden_when": known.hidden_when if known else "",
        "separated_by": "",
        "unexplained": [],
    }
