"""Whole layers that have the weights of other layers: one difference, where each weight would be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.findings import Cause
from veriformer.conformance_tests.ports.items import PortPart
from veriformer.conformance_tests.ports.judged import Judged

Layer = tuple[int, int]
"""A layer by its stack and its number."""
EXCHANGED = "layers exchanged"
_MOST = 6


def exchanged_layers(judged: Sequence[Judged], parts: Sequence[PortPart]) -> dict[Layer, int]:
    """Return the layers of the second model that have all weights of another layer of the first, and which.

    They exchange their places: each of these layers has the weights of another one of them. `parts` are those of the
    first model.
    """
    home = {id(weight): part for part in parts for weight in part.weights()}
    sources: dict[Layer, set[int | None]] = {}
    for one in judged:
        first, second = one.pair
        if first is None or second is None or first.layer is None:
            continue
        sources.setdefault((first.stack, first.layer), set()).update(_sources(one, first, home))
    single = ((layer, next(iter(found))) for layer, found in sources.items() if len(found) == 1)
    moved = {layer: source for layer, source in single if source is not None}
    numbers = {(stack, source) for (stack, _), source in moved.items()}
    whole = len(moved) > 1 and numbers == set(moved)
    return {layer: source for layer, source in moved.items() if whole and source != layer[1]}


def _sources(one: Judged, first: PortPart, home: Mapping[int, PortPart]) -> set[int | None]:
    """Return the layers that the weights of a part are from; None where one is from nowhere, or from another kind."""
    found: set[int | None] = set()
    for finding in one.findings:
        if is_of_weights(finding):
            elsewhere = finding.elsewhere
            part = None if elsewhere is None else home.get(id(elsewhere))
            same = part is not None and elsewhere is not None and elsewhere.key == finding.key
            found.add(part.layer if same and part is not None and part.stack == first.stack else None)
    return found or {None}


def is_of_weights(finding: Finding) -> bool:
    """Return whether a weight differs, and nothing makes up for it."""
    return not finding.harmless and (finding.relation is not None or finding.elsewhere is not None)


def cause_of_exchange(exchanged: Mapping[Layer, int], *, in_code: bool = False) -> Cause:
    """Return the one cause of the differences of all exchanged layers.

    With `in_code` each layer has its own weights under its own name, and the code runs them in another order.
    """
    if in_code:
        pairs = [f"B runs layer {source} where A runs layer {number}" for (_, number), source in exchanged.items()]
        sentence = f"the layers run in another order: {first_few(pairs, _MOST)}"
        moved = [str(number) for number in sorted(number for _, number in exchanged)]
        change = f"run layers {', '.join(moved[:-1])} and {moved[-1]} in A's order"
        return Cause("mistake", EXCHANGED, sentence, 1.0, change)
    pairs = [f"layer {number} of B has the weights of A's layer {source}" for (_, number), source in exchanged.items()]
    sentence = f"the layers are exchanged: {first_few(pairs, _MOST)}"
    numbers = [str(number) for _, number in exchanged]
    change = f"load layers {', '.join(numbers[:-1])} and {numbers[-1]} of A in their own order"
    return Cause("weight", EXCHANGED, sentence, 1.0, change)
