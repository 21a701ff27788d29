"""The lines of a record: one JSON object each, checked when they are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

# A law that failed is tried again: its own seed determines its cases, and so all that a report shows.
TAKEN = ("passed", "not_declared")
STATUSES = (*TAKEN, "failed", "error")
# A convention, its value and how it is known; other possible values may follow.
_LEAST = 3


class BrokenLine(ValueError):
    """A line that this program has not written."""


def written(line: Mapping[str, Any]) -> bytes:
    """Return an object as a line."""
    return (json.dumps(line, allow_nan=False) + "\n").encode("ascii")


def read(line: bytes) -> dict[str, Any]:
    """Return the object of a line; BrokenLine where it is none."""
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BrokenLine("it is not JSON") from error
    if not isinstance(found, dict):
        raise BrokenLine("it is not an object")
    return found


def _refuse(constant: str) -> NoReturn:
    """Raise ValueError for NaN and the infinities, which Python reads although JSON has none."""
    raise ValueError(f"{constant} is not JSON")


def result_line(implementation: str, result: LawResult) -> dict[str, Any]:
    """Return the line of a result."""
    line = {
        "implementation": implementation,
        "law": result.law.id,
        "status": result.status,
        "cases": result.cases,
        "seconds": result.seconds,
        "reason": result.reason,
        "printed": result.printed,
        "notices": list(result.notices),
    }
    # JSON has no infinity, and the excess of a law that is tried again is not needed.
    return {**line, "largest_excess": result.largest_excess} if result.status in TAKEN else line


def result_of(line: Mapping[str, Any]) -> LawResult | None:
    """Return the result in a line, None where the law is to be tried again; BrokenLine for anything else."""
    law = LAWS.get(_text(line, "law"))
    if law is None or line.get("status") not in STATUSES:
        raise BrokenLine("it names no law or no status")
    if line["status"] not in TAKEN:
        return None
    return LawResult(
        law,
        line["status"],
        cases=int(_number(line, "cases")),
        seconds=_number(line, "seconds"),
        largest_excess=_number(line, "largest_excess"),
        reason=_text(line, "reason"),
        printed=_text(line, "printed"),
        notices=_strings(line.get("notices", []), "notices"),
    )


def findings_line(implementation: str, operation: str, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Return the line of an operation that was examined."""
    found = [[finding.convention, finding.value, finding.how, *finding.standing] for finding in findings]
    return {"implementation": implementation, "operation": operation, "findings": found}


def findings_of(line: Mapping[str, Any]) -> tuple[str, tuple[Finding, ...]]:
    """Return the operation and the findings in a line; BrokenLine where there are none."""
    operation, found = _text(line, "operation"), line.get("findings")
    if operation not in OPERATIONS or not isinstance(found, list):
        raise BrokenLine("it names no operation or has no findings")
    if not all(
        isinstance(one, list) and len(one) >= _LEAST and all(isinstance(part, str) for part in one) for one in found
    ):
        raise BrokenLine("its findings are not lists of a convention, its value, how that is known, and what fits too")
    return operation, tuple(Finding(operation, one[0], one[1], one[2], tuple(one[_LEAST:])) for one in found)


def _text(line: Mapping[str, Any], name: str) -> str:
    (text,) = _strings([line.get(name)], name)
    return text


def _strings(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise BrokenLine(f"its {name!r} does not hold strings only")
    return tuple(values)


def _number(line: Mapping[str, Any], name: str) -> float:
    value = line.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BrokenLine(f"its {name!r} is not a finite number")
    return value
