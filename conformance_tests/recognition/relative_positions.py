"""Positions that are multiplied with the query and added to the logits: whether they go by the distance of the key."""

from __future__ import annotations

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import factors
from veriformer.conformance_tests.recognition.tracking import carried

# Fewer keys and queries show no distance that comes back.
_LEAST = 3


def is_of_query(flow: Flow, value: int | None) -> bool:
    """Return whether what is added to the logits is made of the inputs and of parameters, and is no fixed table."""
    return value is not None and not flow.is_fixed(value) and flow.depends_on_parameters(value)


def go_by_distance(flow: Flow, value: int, visible: Array) -> bool | None:
    """Return whether products of queries with rows of a table are added by the distance of the key; None if unknown.

    `visible` (L, S) says which keys are seen.
    """
    product = _nearest_product(flow, value)
    if product is None or min(visible.shape) < _LEAST or flow.shape(value)[-2:] != visible.shape:
        return None
    rows = _rows_of_result(flow, product, value)
    of_table = _table_goes_by_distance(flow, product, visible)
    if rows is None or of_table:
        return of_table
    if len(np.unique(rows[visible])) == 1:
        # One row for all keys is that of a head, as of a map from values to a mask, and of no position.
        return None
    distance = np.arange(visible.shape[1]) - np.arange(visible.shape[0])[:, None]
    return any(len(np.unique((rows + sign * distance)[visible])) == 1 for sign in (-1, 1))


def is_scaled(flow: Flow, value: int, bias: Array) -> bool:
    """Return whether the numbers of a bias were multiplied after they were added, as the logits were."""
    return not np.isin(bias[bias != 0.0], flow.array(value)).all()


def _nearest_product(flow: Flow, value: int) -> int | None:
    """Return the nearest step behind a value that multiplies something of the pass with a fixed table."""
    behind = flow.ancestors(value)
    for one in sorted(behind, key=lambda one: behind[one]):
        index = flow.maker(one)
        step = None if index is None else flow.steps[index]
        if step is not None and step.kind == Kind.CONTRACTION and len(step.operands) == 2:
            return index if sum(flow.is_fixed(each) for each in factors(step)) == 1 else None
    return None


def _rows_of_result(flow: Flow, product: int, value: int) -> Array | None:
    """Return the row of the table that is added for each query and key, (L, S); None where each pair has its own."""
    step = flow.steps[product]
    second = factors(step)[1]
    own = flow.array(second).ndim - len(step.attributes["contracted"][1]) - len(step.attributes["parallel"][1])
    if not flow.is_fixed(second) or own != 1:
        return None
    moved = carried(flow, step.results[0], value)
    if moved is None:
        return None
    rows = (moved % flow.shape(step.results[0])[-1]).reshape(-1, *moved.shape[-2:])
    found: Array = np.where((moved < 0).reshape(rows.shape), -1, rows)[0]
    return found


def _table_goes_by_distance(flow: Flow, product: int, visible: Array) -> bool | None:
    """Return whether a table (L, S, D) has one row for each distance; None where the product has none of that shape."""
    step = flow.steps[product]
    place = next(place for place, one in enumerate(factors(step)) if flow.is_fixed(one))
    table, summed, side = flow.array(factors(step)[place]), step.attributes["contracted"], step.attributes["parallel"]
    own = [axis for axis in range(table.ndim) if axis not in summed[place] and axis not in side[place]]
    # The axis of the queries goes through the product side by side with theirs.
    table = table.transpose(*side[place], *own, *summed[place])
    if table.ndim != len(("query", "key", "component")) or table.shape[:2] != visible.shape:
        return None
    same = (table[1:, 1:] == table[:-1, :-1]).all(axis=-1)
    return bool(same[visible[1:, 1:] & visible[:-1, :-1]].all())
