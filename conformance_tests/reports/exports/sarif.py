"""SARIF 2.1.0, as GitHub and editors read it: a run for each outcome, a result for each problem."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from veriformer.conformance_tests.core.text import plain, printable
from veriformer.conformance_tests.reports.exports.outcome import Outcome, Problem
from veriformer.conformance_tests.reports.exports.rules import rule
from veriformer.conformance_tests.reports.locations import Place, uri_of

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LONGEST = 1000
_LONGEST_TEXT = 8000


def sarif(outcomes: Sequence[Outcome]) -> str:
    """Return a log with a run for each outcome."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(outcome) for outcome in outcomes]}
    return json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run(outcome: Outcome) -> dict[str, Any]:
    rules = list(dict.fromkeys(problem.rule for problem in outcome.problems))
    driver = {"name": "Veriformer", "version": _version(), "rules": [_rule(name, outcome) for name in rules]}
    return {
        "tool": {"driver": driver},
        # GitHub takes the runs of one file for different analyses only if this differs.
        "automationDetails": {"id": f"veriformer/{_line(outcome.name)}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": outcome.ran}],
        "results": [_result(outcome, problem, rules.index(problem.rule)) for problem in outcome.problems],
        "properties": {"verdict": _line(outcome.sentence)},
    }


def _version() -> str:
    try:
        return version("veriformer")
    except PackageNotFoundError:
        return "0"


def _rule(name: str, outcome: Outcome) -> dict[str, Any]:
    known = rule(name)
    first = next(problem for problem in outcome.problems if problem.rule == name)
    return {
        "id": _line(name),
        "shortDescription": {"text": _line(known.sentence)},
        "fullDescription": {"text": _line(known.sentence)},
        "help": {"text": printable(known.help)},
        "defaultConfiguration": {"level": first.level},
        "properties": {"tags": ["correctness", "transformer"]},
    }


def _result(outcome: Outcome, problem: Problem, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": _line(problem.rule),
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": _line(problem.sentence)},
        "locations": [_location(problem)],
        "partialFingerprints": {"veriformer/v1": _fingerprint(outcome, problem)},
        "properties": {"laws": list(map(_line, problem.laws)), "smallestCase": printable(problem.text[:_LONGEST_TEXT])},
    }
    if problem.expected:
        result["suppressions"] = [{"kind": "external", "justification": _line(problem.expected)}]
    return result


def _location(problem: Problem) -> dict[str, Any]:
    named = {"logicalLocations": [{"name": _line(problem.where), "kind": "function"}]}
    return named if problem.place is None else {"physicalLocation": _physical(problem.place), **named}


def _physical(place: Place) -> dict[str, Any]:
    uri, from_root = uri_of(place.file)
    artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"} if from_root else {"uri": uri}
    return {"artifactLocation": artifact, "region": {"startLine": max(place.line, 1)}}


def _fingerprint(outcome: Outcome, problem: Problem) -> str:
    """Return what stays the same while lines move and numbers change: what is wrong, where."""
    file = uri_of(problem.place.file)[0] if problem.place is not None else outcome.name
    parts = "\0".join((file, problem.where, problem.rule))
    return hashlib.sha256(parts.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _line(text: str) -> str:
    return plain(text, _LONGEST)
