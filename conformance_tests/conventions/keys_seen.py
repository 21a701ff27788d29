"""Which keys each query of attention depends on, found by changing one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array


def keys_seen(inputs: Any, ask: Callable[[Any], Array | None], conventions: Conventions) -> Array | None:
    """Return which keys each query's answer depends on, (L, S), by changing one key after the other.

    This finds the alignment even where the values are wrong for another reason. None without an answer.
    """
    before = ask(inputs)
    if before is None:
        return None
    unseen = inputs.unseen_keys(conventions)
    columns = []
    for key in range(inputs.key_length):
        where = np.zeros_like(unseen)
        where[..., key] = True
        after = ask(inputs.with_keys_replaced(where, 9.0))
        if after is None:
            return None
        rest = tuple(axis for axis in range(before.ndim) if axis != inputs.result_axis("queries"))
        changed = (before != after) & ~(np.isnan(before) & np.isnan(after))
        if inputs.operation == "attention_weights":
            # The weight of the only key that is seen is 1, whatever the key.
            changed[..., key] |= before[..., key] != 0
        columns.append(changed.any(axis=rest))
    return np.stack(columns, axis=-1)


def shows(seen: Array | None, mask: Array) -> bool:
    """Return whether the keys seen are those of the mask, in the rows that have any: others may average all."""
    rows = mask.any(axis=-1)
    return seen is not None and seen.shape == mask.shape and np.array_equal(seen[rows], mask[rows])
