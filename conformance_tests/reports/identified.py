"""Conventions with their evidence, as lines of a page and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from rich.text import Text
from veriformer.conformance_tests.conventions.evidence import Evidence
from veriformer.conformance_tests.conventions.identification import Identification, Identified
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.reports.json_report import SCHEMA, argument_as_json, strict
from veriformer.conformance_tests.reports.layout import Lines, blank, entry
from veriformer.conformance_tests.reports.literals import nested
from veriformer.spec.conventions import CONVENTIONS

_MOST_OPERATIONS = 4
_LABEL = 12
WORDS = {
    "told": ("told", "green"),
    "untold": ("cannot be told", "yellow"),
    "mistake": ("NOT ACCEPTED", "yellow"),
    "contradicted": ("CONTRADICTED", "red"),
}
_HOW = {"declared": "declared", "inferred": "inferred", "standard": "standard, since no answer decides"}
_NUMBERS_SHOWN = 64


def identification_lines(identification: Identification, *, width: int, verbose: bool = False) -> Lines:
    """Return a page: each convention with its values, their operations and the evidence; then the counts."""
    name = plain(identification.implementation)
    operations = counted(len(identification.operations), "operation")
    lines: Lines = [Text(name, style="bold").append(f"   {plain(identification.framework)}, {operations}", style="dim")]
    for convention in CONVENTIONS.values():
        groups = grouped([item for item in identification.conventions if item.convention == convention.name])
        if not groups:
            continue
        lines += [blank(), Text(convention.name, style="bold").append(f"   {convention.question}", style="dim")]
        for group in groups:
            lines += _group(group, width, verbose)
    if identification.interrupted:
        asked = counted(len(identification.operations), "operation")
        lines += [blank(), Text(f"Interrupted after {asked}; the others were not asked about", style="yellow")]
    return [*lines, blank(), Text(summary(identification))]


def identification_as_json(identification: Identification) -> dict[str, Any]:
    """Return the object that `veriformer identify --json` writes."""
    answers = {item.told for item in identification.conventions}
    verdict = "contradicted" if "contradicted" in answers else "untold" if answers - {"told"} else "told"
    return {
        "schema": SCHEMA,
        "implementation": strict(identification.implementation),
        "framework": identification.framework,
        "verdict": verdict if identification.operations else "error",
        "counts": _counts(identification),
        "conventions": [_item(item) for item in identification.conventions],
        **({"interrupted": True} if identification.interrupted else {}),
    }


def failure_of_identify(implementation: str, reason: str) -> dict[str, Any]:
    """Return the object for an implementation that could not be loaded."""
    return {
        "schema": SCHEMA,
        "implementation": strict(implementation),
        "verdict": "error",
        "reason": strict(reason),
    }


def grouped(items: list[Identified]) -> list[list[Identified]]:
    """Return the items in groups of equal answers, disregarding the numbers in them."""
    groups: dict[Any, list[Identified]] = {}
    for item in items:
        answers = tuple(evidence.fits for evidence in item.evidence)
        # Equal reasons differ in the name of the operation that raised.
        reason = item.reason.replace(item.operation, "")
        groups.setdefault((item.value, item.how, item.told, reason, answers), []).append(item)
    return list(groups.values())


def _group(group: list[Identified], width: int, verbose: bool) -> Lines:
    first = group[0]
    names = [item.operation for item in group]
    word, style = WORDS[first.told]
    line = Text("  ").append(first.value, style="bold").append(f"   {_HOW[first.how]}")
    if first.told != "told":
        line.append("   ").append(word, style=style)
    shown = first_few(names, len(names) if verbose else _MOST_OPERATIONS)
    lines: Lines = [line, *_labelled("in", shown, width)]
    if first.reason:
        lines += _labelled("but", plain(first.reason), width)
    evidence = first.evidence if verbose else _telling(first.evidence)
    for one in evidence:
        lines += _evidence(one, width, verbose)
    return lines


def _telling(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Return the question that excludes most values."""
    return (max(evidence, key=lambda one: len(one.excludes)),) if evidence else ()


def _evidence(evidence: Evidence, width: int, verbose: bool) -> Lines:
    verdict = joined(
        [
            f"fits {' and '.join(evidence.fits)}" if evidence.fits else "fits no value",
            f"excludes {' and '.join(evidence.excludes)}" if evidence.excludes else "",
        ]
    )
    lines = [*_labelled("asked", evidence.asked, width), *_labelled("came", plain(evidence.came, 400), width)]
    lines += _labelled("so", verdict, width)
    if verbose:
        for name, value in evidence.arguments.items():
            lines += _numbers(name, value, width)
        lines += _numbers("result", evidence.result, width)
    return lines


def _numbers(name: str, value: Any, width: int) -> Lines:
    if not isinstance(value, np.ndarray) or value.size > _NUMBERS_SHOWN:
        return []
    return _labelled(name, nested(value, "float32", 6), width)


def _labelled(label: str, text: str, width: int) -> Lines:
    return entry(label, text, width, indent=4, label_width=_LABEL)


def _counts(identification: Identification) -> dict[str, int]:
    counts = Counter(item.told for item in identification.conventions)
    return {name: counts[name] for name in ("told", "untold", "mistake", "contradicted")}


def summary(identification: Identification) -> str:
    """Return the counts in one line."""
    counts = _counts(identification)
    if not identification.operations:
        return "No operation was asked about: none of those named is declared"
    return (
        f"{counts['told']} told, {counts['untold']} cannot be told, {counts['mistake']} not accepted, "
        f"{counts['contradicted']} contradicted; {counted(len(identification.operations), 'operation')}"
    )


def _item(item: Identified) -> dict[str, Any]:
    return {
        "operation": item.operation,
        "convention": item.convention,
        "value": item.value,
        "how": item.how,
        "told": item.told,
        "reason": strict(item.reason),
        "fits": list(item.fits),
        "evidence": [_evidence_as_json(one) for one in item.evidence],
    }


def _evidence_as_json(one: Evidence) -> dict[str, Any]:
    return {
        "asked": one.asked,
        "came": strict(one.came),
        "fits": list(one.fits),
        "excludes": list(one.excludes),
        "arguments": {name: argument_as_json(value, "float64") for name, value in one.arguments.items()},
        "result": strict(one.result),
    }
