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
from veriformer.conformance_tests.ports.read_otherwise import Used
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


def weight_pairs(judged: Sequence[Judged], first: Side, second: Side, used: Used) -> tuple[WeightPair, ...]:
    """Return what each weight of the first model is in the second; those of no part are looked for by their numbers.

    `used` are the numbers of which the second model's results are made.
    """
    found = [pair for one in judged for pair in _of_pair(one, used)]
    named = {name for pair in found for name in pair.names_a}
    return (*found, *_of_no_part(first, second, named, used))


def _of_pair(one: Judged, used: Used) -> Iterator[WeightPair]:
    first, second = one.pair
    if first is None or second is None:
        return
    differing = {finding.key: finding for finding in one.findings if finding.relation is not None}
    for weight in first.weights():
        other = second.by_key(weight.key)
        names = other.names if isinstance(other, Weight) else ()
        finding = differing.get(weight.key)
        if finding is not None and finding.relation is not None:
            if finding.held or finding.cut_otherwise:
                # The code is at fault, and not the numbers.
                held = tuple(finding.held.split(", ")) if finding.held else names
                yield WeightPair(weight.names, held, "same", f"{weight.key}: the same, which B's code takes otherwise")
                continue
            relation = "elsewhere" if finding.elsewhere is not None else finding.relation.name
            yield WeightPair(weight.names, names, relation, cause_of(finding).sentence, bool(finding.harmless))
        elif weight.array is not None and _is_same(weight, second):
            yield WeightPair(weight.names, names, "same", weight.key)
        elif weight.array is not None:
            yield _by_numbers(weight.names, weight.array, weight.key, used)


def _is_same(weight: Weight, second: PortPart) -> bool:
    other = second.by_key(weight.key)
    if not isinstance(other, Weight) or other.array is None or weight.array is None:
        return False
    # Of another size it belongs to a part that was read otherwise.
    return other.array.size == weight.array.size and are_comparable(weight, other)


def _by_numbers(names: tuple[str, ...], array: Array, key: str, used: Used) -> WeightPair:
    """Return what a weight is in the second model, of which no single weight is known to be the same."""
    if used.has(array):
        return WeightPair(
            names, (), "same", f"{key}: by its numbers, which B uses in several weights or in a larger one"
        )
    return WeightPair(names, (), "unknown", f"{key}: what it is in B was not found out")


def _of_no_part(first: Side, second: Side, named: set[str], used: Used) -> Iterator[WeightPair]:
    """Yield the parameters in no part that both models were read to have, looked for by their numbers alone."""
    others = {name: second.parameter(name) for name in second.trace.parameters}
    for name in first.trace.parameters:
        if name in named:
            continue
        array = first.parameter(name)
        same = next((other for other, numbers in others.items() if _has_numbers(array, numbers)), None)
        if same is None:
            yield _by_numbers((name,), array, name, used)
        else:
            yield WeightPair((name,), (same,), "same", "by its numbers, in any order")


def _has_numbers(first: Array, second: Array) -> bool:
    """Return whether two arrays hold the same numbers, and more than one number."""
    if first.size != second.size or first.size < 2 or np.ptp(first) == 0:
        return False
    return bool(np.array_equal(np.sort(first, axis=None), np.sort(second, axis=None)))
