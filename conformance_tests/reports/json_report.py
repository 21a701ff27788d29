"""A report as JSON, schema 1: strict JSON, in which NaN and the infinities are the strings "nan", "inf", "-inf"."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.reports.diagnosis_json import diagnosis_as_json, law_diagnosis_as_json
from veriformer.conformance_tests.reports.model_json import model_as_json
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.reports.violation import conventions_of
from veriformer.conformance_tests.run.atomic import write_text
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

SCHEMA = 1


def report_as_json(report: Report, *, all_laws: bool = False) -> dict[str, Any]:
    """Return a report as the object that docs/interface.md describes; `all_laws` lists those not declared too."""
    written = {
        "schema": SCHEMA,
        "implementation": report.implementation,
        "framework": report.framework,
        "seed": report.seed,
        "tier": report.tier,
        "verdict": report.verdict,
        "counts": report.counts,
        "seconds": report.seconds,
        "conventions": report.conventions,
        "unknown_conventions": [
            {"operation": one.operation, "convention": one.convention, "value": one.value, "fits": list(one.standing)}
            for one in report.unknown
        ],
        "diagnosis": diagnosis_as_json(report),
        "notices": list(report.notices),
        "taken_as": dict(report.taken_as),
        "not_judged": dict(report.not_judged),
        "stale": list(report.stale),
        "not_declared": _not_declared(report.results),
        "laws": [_law(report, result) for result in _listed(report.results, all_laws)],
    }
    if report.interrupted:
        written["interrupted"] = True
    if isinstance(report, ModelReport):
        written |= model_as_json(report)
        written["laws"] = [
            {**_law(one.report, result), "path": one.path}
            for one in report.laws
            for result in _listed(one.report.results, all_laws)
        ]
    return {name: strict(value) for name, value in written.items()}


def failure_as_json(implementation: str, reason: str, *, seed: int, tier: str) -> dict[str, Any]:
    """Return the object for an implementation that could not be loaded."""
    empty = Report(implementation, "", seed, tier, ())
    return {**report_as_json(empty), "reason": strict(reason)}


def document(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the object of one implementation, or for several `{"schema": 1, "reports": [...]}`."""
    return objects[0] if len(objects) == 1 else {"schema": SCHEMA, "reports": list(objects)}


def write_json(path: Path, objects: Sequence[dict[str, Any]]) -> None:
    """Write a document whole or not at all; OSError when the file cannot be written."""
    write_text(path, json.dumps(document(objects), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _listed(results: Iterable[LawResult], all_laws: bool) -> list[LawResult]:
    return [result for result in results if all_laws or result.status != "not_declared"]


def _not_declared(results: Iterable[LawResult]) -> list[dict[str, Any]]:
    """Return for each reason how many laws of an operation are not declared."""
    counts = Counter(
        (result.law.operation.name, result.reason) for result in results if result.status == "not_declared"
    )
    return [{"operation": name, "reason": reason, "laws": number} for (name, reason), number in counts.items()]


def _law(report: Report, result: LawResult) -> dict[str, Any]:
    return {
        "id": result.law.id,
        "operation": result.law.operation.name,
        "statement": result.law.statement,
        "tier": result.law.obligation,
        "status": result.status,
        "reason": result.reason,
        "refused": [strict(sentence) for sentence in result.refused],
        "expected_failure": result.expected_failure,
        "cases": result.cases,
        "largest_excess": strict(result.largest_excess),
        "seconds": result.seconds,
        "counterexample": None
        if result.counterexample is None
        else _counterexample(report, result, result.counterexample),
        "diagnosis": law_diagnosis_as_json(report, result),
    }


def _counterexample(report: Report, result: LawResult, counterexample: Counterexample) -> dict[str, Any]:
    case, verdict = counterexample.case, counterexample.verdict
    conventions = conventions_of(report, result.law.operation.name)
    return {
        "description": "" if case is None else case.describe(),
        "case": None if case is None else strict(asdict(case)),
        "calls": [_call(record) for record in counterexample.calls],
        "expected": strict(verdict.expected),
        "actual": strict(verdict.actual),
        "wrong": [] if verdict.wrong is None else np.argwhere(verdict.wrong).tolist(),
        "excess": strict(verdict.excess),
        "note": verdict.note,
        "eager_allows": counterexample.eager_allows,
        "python": reproduce(
            target(report),
            report.framework,
            counterexample,
            conventions=conventions,
            law=result.law.id,
            taken_as=report.taken_as,
        ),
    }


def _call(record: CallRecord) -> dict[str, Any]:
    arguments = {name: argument_as_json(value, record.dtype) for name, value in record.arguments.items()}
    return {
        "operation": record.operation,
        "dtype": record.dtype,
        "arguments": arguments,
        "result": strict(record.result),
    }


def argument_as_json(value: Any, dtype: str) -> Any:
    """Return an argument of a call: an array with its shape and dtype, a record of weights by its members."""
    if isinstance(value, np.ndarray):
        kind = {"b": "bool", "i": "int64", "u": "int64"}.get(value.dtype.kind, dtype)
        return {"shape": list(value.shape), "dtype": kind, "values": strict(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {member.name: argument_as_json(getattr(value, member.name), dtype) for member in fields(value)}
    if isinstance(value, list | tuple):
        return [argument_as_json(part, dtype) for part in value]
    return strict(value)


def strict(value: Any) -> Any:
    """Return a value with the types of strict JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return strict(value.tolist())
    if isinstance(value, dict):
        return {str(name): strict(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    if isinstance(value, str):
        # A lone surrogate cannot be encoded in UTF-8.
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
