"""The tables of a comparison: which parts belong together, and what became of each weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.causes import cause_of
from veriformer.conformance_tests.ports.findings import PairStatus, PartPair, WeightPair
from veriformer.conformance_tests.ports.items import PortPart, Weight
from veriformer.conformance_tests.ports.judged import Judged
from veriformer.conformance_tests.ports.pairing import are_comparable
from veriformer.conformance_tests.ports.side import Side


def part_pair(one: Judged) -> PartPair:
    """Return a pair of parts with what was found of it in a few words."""
    first, second = one.pair
    part = first or second
    assert part is not None
    path_a, path_b = ("" if each is None else each.path for each in one.pair)
    if first is None or second is None:
        return PartPair(part.role, part.layer, path_a, path_b, "unmatched")
    status: PairStatus = "differs" if one.told else "inside" if one.findings else "same"
    summary = ", ".join(dict.fromkeys(finding.key for finding in one.findings) or dict.fromkeys(one.told))
    return PartPair(part.role, part.layer, path_a, path_b, status, summary)


def weight_pairs(judged: Sequence[Judged], first: Side, second: Side) -> tuple[WeightPair, ...]:
    """Return what each weight of the first model is in the second; those of no part are looked for by their numbers."""
    found = [pair for one in judged for pair in _of_pair(one)]
    named = {name for pair in found for name in pair.names_a}
    return (*found, *_of_no_part(first, second, named))


def _of_pair(one: Judged) -> Iterator[WeightPair]:
    first, second = one.pair
    if first is None or second is None:
        return
    differing = {finding.key: finding for finding in one.findings if finding.relation is not None}
    for weight in first.weights():
        other = second.by_key(weight.key)
        names = other.names if isinstance(other, Weight) else ()
        finding = differing.get(weight.key)
        if finding is not None and finding.relation is not None:
            relation = "elsewhere" if finding.elsewhere is not None else finding.relation.name
            yield WeightPair(weight.names, names, relation, cause_of(finding).sentence, bool(finding.harmless))
        elif weight.array is not None and _is_same(weight, second):
            yield WeightPair(weight.names, names, "same", weight.key)
        elif weight.array is not None:
            yield WeightPair(weight.names, names, "unknown", f"{weight.key}: what it is in B was not found out")


def _is_same(weight: Weight, second: PortPart) -> bool:
    other = second.by_key(weight.key)
    both = isinstance(other, Weight) and other.array is not None
    return both and are_comparable(weight, other)


def _of_no_part(first: Side, second: Side, named: set[str]) -> Iterator[WeightPair]:
    """Yield the parameters in no part that both models were read to have, looked for by their numbers alone."""
    others = {name: second.parameter(name) for name in second.trace.parameters}
    for name in first.trace.parameters:
        if name in named:
            continue
        array = first.parameter(name)
        same = next((other for other, numbers in others.items() if _has_numbers(array, numbers)), None)
        if same is None:
            yield WeightPair((name,), (), "unknown", f"{name}: what it is in B was not found out")
        else:
            yield WeightPair((name,), (same,), "same", "by its numbers, in any order")


def _has_numbers(first: Array, second: Array) -> bool:
    """Return whether two arrays hold the same numbers, and more than one number."""
    if first.size != second.size or first.size < 2 or np.ptp(first) == 0:
        return False
    return bool(np.array_equal(np.sort(first, axis=None), np.sort(second, axis=None)))
