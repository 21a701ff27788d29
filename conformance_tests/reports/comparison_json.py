"""A comparison of two implementations as JSON, schema 1; numbers that are not finite are strings, as in reports."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from veriformer.conformance_tests.comparison.comparison import CaseComparison, Comparison, OperationComparison
from veriformer.conformance_tests.reports.diagnosis_json import diagnosis_as_json
from veriformer.conformance_tests.reports.json_report import SCHEMA, argument_as_json, strict
from veriformer.conformance_tests.run.atomic import write_text


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as an object with the types of strict JSON."""
    written = {
        "schema": SCHEMA,
        "first": comparison.first,
        "second": comparison.second,
        "frameworks": list(comparison.frameworks),
        "seed": comparison.seed,
        "tier": comparison.tier,
        "verdict": comparison.verdict,
        "seconds": comparison.seconds,
        "operations": [_operation(operation) for operation in comparison.operations],
        "dtypes": list(comparison.dtypes),
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
        "notices": list(comparison.notices),
        **({"interrupted": True} if comparison.interrupted else {}),
    }
    return {name: strict(value) for name, value in written.items()}


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write a comparison whole or not at all; OSError when the file cannot be written."""
    text = json.dumps(comparison_as_json(comparison), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _operation(operation: OperationComparison) -> dict[str, Any]:
    return {
        "operation": operation.operation.name,
        "status": "not_compared" if operation.reason else "agree" if operation.agrees else "part",
        "reason": operation.reason,
        "cases": operation.cases,
        "parted": operation.differing,
        "unjudged": operation.unjudged,
        "contradicts": list(operation.contradicts),
        "largest_excess": operation.largest_excess,
        "conventions": {
            pair.name: {"first": pair.first, "second": pair.second, "how": list(pair.how)}
            for pair in operation.conventions
        },
        "changes": operation.changes,
        "keywords": list(operation.keywords),
        "limitations": list(operation.limitations),
        "refusals": [[refusal.words for refusal in each] for each in operation.refusals],
        "diagnosis": {
            side: [] if check is None else diagnosis_as_json(check)
            for side, check in zip(("first", "second"), operation.checks, strict=True)
        },
        "partings": [_difference(one) for one in operation.differences],
    }


def _difference(compared: CaseComparison) -> dict[str, Any]:
    cause = compared.cause
    return {
        "laws_side_with": None if cause is None else cause.side,
        "conventions": [] if cause is None else list(cause.conventions),
        "raised": cause is not None and cause.raised,
        "description": compared.case.describe(),
        "case": asdict(compared.case),
        "arguments": {name: argument_as_json(value, compared.dtype) for name, value in compared.arguments.items()},
        "results": list(compared.results),
        "expected": list(compared.expected),
        "errors": list(compared.errors),
        "differing": [] if compared.wrong is None else np.argwhere(compared.wrong).tolist(),
        "excess": compared.excess,
    }
