"""Values that are mixed with others: those of an earlier layer, or rows of a table for the tokens.

v = a · x W_v + b · u. With u the values of the first layer these are value residuals (Zhou et al. 2024, "Value Residual
Learning", section 3); with u an embedding of the tokens, the value embeddings of modded-nanogpt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import Split, grouped, splits_of
from veriformer.conformance_tests.recognition.maps import LinearMap, Lookup, Maps
from veriformer.conformance_tests.recognition.sites import Site

# A share below this, of values that are about as large, is rounding.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class MixedValues:
    """Values that are `share` times those of the projection `own`, cut into heads as `split`, and others.

    The others are `share_of_others` times what `others` gives. `is_learned` says that the shares are parameters.
    """

    own: LinearMap
    split: Split
    share: float
    others: LinearMap | Lookup
    share_of_others: float
    is_learned: bool = False


def mixed_values(flow: Flow, maps: Maps, site: Site, own: LinearMap, behind: Sequence[LinearMap]) -> MixedValues | None:
    """Return how an attention's values are mixed of those that `own` projects and others; None where they are not.

    `behind` are the maps that the values are made of without another between, `own` among them.
    """
    values, end = grouped(site.value).array, site.value_value
    others = _others(flow, maps, site, [one for one in behind if one is not own])
    for source, array in others:
        for split in splits_of(flow, own, site.value, end):
            shares = _shares(split.array, array, values, flow.unit_between(split.value, end))
            if shares is not None:
                learned = any(takes_a_learned_number(flow, index) for index in flow.between(split.value, end))
                return MixedValues(own, split, shares[0], source, shares[1], learned)
    return None


def takes_a_learned_number(flow: Flow, step: int) -> bool:
    """Return whether a step takes one number that is made of parameters, such as a learned share."""
    operands = flow.steps[step].operands
    return any(flow.array(one).size == 1 and flow.is_fixed(one) and flow.depends_on_parameters(one) for one in operands)


def _others(
    flow: Flow, maps: Maps, site: Site, behind: Sequence[LinearMap]
) -> Iterator[tuple[LinearMap | Lookup, Array]]:
    """Yield the sources of values beside an attention's own projection, each with its heads (B, G, S, D)."""
    for one in behind:
        for split in splits_of(flow, one, site.value, site.value_value):
            yield one, split.array
            break
    near = flow.ancestors(site.value_value, stop=lambda one: one in maps.by_output)
    batch, _, length, width = site.value.shape
    for lookup in maps.lookups:
        rows = flow.array(lookup.output)
        if lookup.output in near and rows.shape[:2] == (batch, length) and not rows[0, 0].size % width:
            yield lookup, rows.reshape(batch, length, -1, width).swapaxes(1, 2)


def _shares(own: Array, others: Array, values: Array, unit: float) -> tuple[float, float] | None:
    """Return a and b where values = a · own + b · others; None where there are no such numbers, or one of them is 0."""
    if own.shape != values.shape or others.shape != values.shape:
        return None
    columns = np.stack([own.ravel(), others.ravel()], axis=-1)
    if not np.isfinite(columns).all() or not np.isfinite(values).all():
        return None
    (first, second), _, rank, _ = np.linalg.lstsq(columns, values.ravel(), rcond=None)
    is_mixed = rank == columns.shape[-1] and min(abs(first), abs(second)) > _LEAST_SHARE
    # The shares are fitted, and have the precision of the values that they are fitted to.
    fits = is_mixed and agree(values, first * own + second * others, unit)
    return (float(first), float(second)) if fits else None
