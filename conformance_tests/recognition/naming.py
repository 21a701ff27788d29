"""Which known mistake gives what a part returned: the operation's family at one changed decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.diagnosis.elimination import mistake_of
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.variants.family import Change, NotDefined, Point


@dataclass(frozen=True)
class Named:
    """A mistake that gives what a part returned: a slug of the catalogue, or `decision=option` where it has none."""

    name: str
    decision: str
    option: str
    sentence: str


@dataclass(frozen=True, eq=False)
class Call:
    """What a part was given and what it returned, in the layout of an operation.

    Only the entries in `judged` are compared, all where it is None.
    """

    operation: str
    arguments: Mapping[str, Any]
    output: Array
    unit: float
    conventions: Mapping[str, str]
    judged: Array | None = None


def named(calls: Iterable[Call]) -> tuple[Named, ...]:
    """Return the mistakes that give the output of the first call that any mistake gives, those with most reports first.

    A call is the same part read under one setting; the settings come likeliest first.
    """
    for call in calls:
        found = list(_fitting(call))
        if found:
            return tuple(sorted(found, key=_reports, reverse=True))
    return ()


def _reports(one: Named) -> tuple[bool, int]:
    known = catalogue().get(one.name)
    return known is not None, 0 if known is None else len(known.citations)


def _fitting(call: Call) -> Iterator[Named]:
    family = family_of(call.operation)
    if family is None:
        return
    base = family.under(call.conventions)
    seen: set[str] = set()
    for changes in _changes(base):
        point = base.changed(*changes)
        if _gives(point, call):
            one = names_of(base, changes)
            if one.name not in seen:
                seen.add(one.name)
                yield one


def _changes(base: Point) -> Iterator[Sequence[Change]]:
    for change in base.single_changes():
        # Blocks of other sizes and half precisions make the same of a short input, and no one writes them here.
        if not any(word in change[1] for word in ("_of_1", "_of_3", "_of_6", "in_blocks_of", "float16")):
            yield (change,)


def _gives(point: Point, call: Call) -> bool:
    try:
        with np.errstate(all="ignore"):
            result = point.compute({**call.arguments, "dtype": "float64"})
    except (NotDefined, ArithmeticError, LookupError, ValueError):
        return False
    if result.shape != call.output.shape and result.size == call.output.size:
        result = result.reshape(call.output.shape)
    if call.judged is not None and result.shape == call.judged.shape:
        return agree(call.output[call.judged], result[call.judged], call.unit)
    return agree(call.output, result, call.unit)


def names_of(base: Point, changes: Sequence[Change]) -> Named:
    """Return what a change of a family is called, and the sentence about it."""
    change = changes[0]
    decision = base.family.all_decisions[change[0]]
    name = mistake_of(base, change)
    known = catalogue().get(name)
    return Named(name, change[0], change[1], known.sentence if known else decision.option(change[1]).meaning)
