"""The data inside of a page: the objects that `--json` writes, without what is empty or large."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from veriformer.conformance_tests.reports.json_report import SCHEMA

Kind = Literal["check", "compare", "identify", "diff"]
ELEMENT = "veriformer-data"

# Arrays of more numbers, and longer scripts, are in the file of `--json` only.
MOST_NUMBERS = 2_000
LONGEST_TEXT = 20_000
# The statement is that of the law's id; what is empty says nothing.
_LEFT_OUT_OF_LAWS = ("statement",)


def embedded(kind: Kind, objects: Sequence[dict[str, Any]]) -> str:
    """Return the data of a page as JSON that is safe inside of a script element."""
    written = {"schema": SCHEMA, "kind": kind, "reports": [_light(_shortened(one)) for one in objects]}
    text = json.dumps(written, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # "</script>" and "<!--" would end the element, or hide its end; U+2028 and the like are left to JSON.
    return text.replace("<", "\\u003c")


def _shortened(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "laws": [_law(law) for law in report["laws"]]} if "laws" in report else report


def _light(value: Any) -> Any:
    """Return an object without its large arrays and texts, null in their place."""
    if isinstance(value, dict):
        return {name: _light(part) for name, part in value.items()}
    if isinstance(value, list):
        is_array = not any(isinstance(part, dict) for part in value)
        return None if is_array and _numbers(value) > MOST_NUMBERS else [_light(part) for part in value]
    return None if isinstance(value, str) and len(value) > LONGEST_TEXT else value


def _numbers(value: Any) -> int:
    return sum(map(_numbers, value)) if isinstance(value, list) else 1


def _law(law: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in law.items()
        if name not in _LEFT_OUT_OF_LAWS and (value or isinstance(value, int | float)) and value is not None
    }
