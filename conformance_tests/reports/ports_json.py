"""A comparison of two whole models as JSON, schema 1; numbers that are not finite are strings, as in reports."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from veriformer.conformance_tests.ports.findings import Difference, PortComparison
from veriformer.conformance_tests.reports.json_report import SCHEMA, strict
from veriformer.conformance_tests.run.atomic import write_text


def ports_as_json(found: PortComparison) -> dict[str, Any]:
    """Return a comparison as an object with the types of strict JSON."""
    written: dict[str, Any] = {
        "schema": SCHEMA,
        "first": found.first,
        "second": found.second,
        "frameworks": list(found.frameworks),
        "dtypes": list(found.dtypes),
        "verdict": found.verdict,
        "apart": found.apart,
        "inputs": found.inputs,
        "seconds": found.seconds,
        "parts": [asdict(pair) for pair in found.pairs],
        "departures": [_difference(one) for one in found.differences],
        "inside": [_difference(one) for one in found.inside],
        "weights": [
            {**asdict(one), "names_a": list(one.names_a), "names_b": list(one.names_b)} for one in found.weights
        ],
        "situations": [asdict(one) for one in found.situations],
        "smallest_input": found.smallest,
        "changes": list(found.changes),
        "notices": list(found.notices),
        **({"interrupted": True} if found.interrupted else {}),
    }
    return {name: strict(value) for name, value in written.items()}


def write_ports(path: Path, found: PortComparison) -> None:
    """Write a comparison whole or not at all; OSError when the file cannot be written."""
    text = json.dumps(ports_as_json(found), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "path_a": one.path_a,
        "path_b": one.path_b,
        "layer": one.layer,
        "situation": one.situation,
        "step": one.step,
        "operation": one.operation,
        "file_a": one.file_a,
        "line_a": one.line_a,
        "file_b": one.file_b,
        "line_b": one.line_b,
        "cause": {
            "kind": one.cause.kind,
            "name": one.cause.name,
            "sentence": one.cause.sentence,
            "confidence": one.cause.confidence,
        },
        "change": one.cause.change,
        "departs": one.departs,
    }
