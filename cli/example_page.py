"""The page of one worked example: what the document prints, next to the exact values."""

from __future__ import annotations

from typing import Any

import sympy
from veriformer.cli.output import page_width
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, labelled
from veriformer.spec.derivations.printing import in_words
from veriformer.spec.worked_examples.example import WorkedExample

_LABEL = 12
_DIGITS = 8

_MEANINGS = {
    "correct": "equal to the exact value",
    "rounded": "the exact value, rounded to the digits printed",
    "conditional": "right only under the condition below",
    "wrong": "an erratum: the exact value is another",
    "not given": "the document prints no value; the exact one completes it",
}


def example_page(example: WorkedExample) -> Lines:
    """Return a worked example: the document's words, printed and exact values, and the verdict."""
    verdict = example.verdict.value
    lines = [heading(example.id), *_entry("", example.title), blank()]
    lines += _entry("source", example.source)
    words = "fragment" if example.document else "question"
    lines += labelled(words, [plain(line) for line in example.fragment.splitlines()], 2, _LABEL)
    if example.printed is not None:
        lines += labelled("printed", _rows(example.printed), 2, _LABEL)
    lines += labelled("exact", _rows(example.exact), 2, _LABEL)
    if _has_decimals(example.exact):
        lines += labelled("", _rows(example.exact, decimal=True), 2, _LABEL)
    if example.document:
        lines += _entry("verdict", f"{verdict}: {_MEANINGS.get(verdict, '')}")
    if example.condition:
        lines += _entry("condition", example.condition)
    if example.otherwise is not None:
        lines += labelled("otherwise", _rows(example.otherwise), 2, _LABEL)
    if example.note:
        lines += _entry("note", example.note)
    if example.execution is not None:
        lines += _entry("run by", f"the worked examples of {example.execution.operation}")
    return lines


def _rows(value: Any, *, decimal: bool = False) -> list[str]:
    """Return a nested value as rows of text, one for each innermost tuple."""
    if isinstance(value, tuple) and any(isinstance(part, tuple) for part in value):
        return [row for part in value for row in _rows(part, decimal=decimal)]
    if isinstance(value, tuple):
        return ["  ".join(_one(part, decimal) for part in value)]
    return [_one(value, decimal)]


def _one(value: Any, decimal: bool) -> str:
    if hasattr(value, "text"):
        return plain(value.text)
    return f"≈ {sympy.N(value, _DIGITS)}" if decimal and not value.is_integer else in_words(value)


def _has_decimals(value: Any) -> bool:
    """Return whether some entry is a number whose size its exact form does not show at a glance."""
    if isinstance(value, tuple):
        return any(_has_decimals(part) for part in value)
    is_number = bool(getattr(value, "is_number", False)) and not value.free_symbols
    return is_number and bool(value.is_finite) and not isinstance(value, sympy.Integer)


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
