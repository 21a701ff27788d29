"""Which pairs of a query and a key are seen, and the mistake that one pattern is in place of another."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.recognition.attention_aspects import mask_mistake

Table = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """A table (…, L, S) of which keys are seen, compared by its entries."""

    table: Table

    def __eq__(self, other: object) -> bool:
        """Return whether the same pairs are seen."""
        return isinstance(other, SeenPairs) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        """Return a number that equal tables share."""
        return hash((self.table.shape, self.table.tobytes()))


def mask_otherwise(own: SeenPairs, usual: Hashable) -> str:
    """Return the mistake that a pattern is where the other model has the usual one; "" where it has no name."""
    if not isinstance(usual, SeenPairs) or own.table.shape != usual.table.shape:
        return ""
    for name, table in _mistaken(usual.table):
        if np.array_equal(_as_seen(own.table), _as_seen(table)):
            return name
    return mask_mistake(own.table) if _is_causal(usual.table) else ""


def _as_seen(table: Table) -> Table:
    """Return a table in which a query without any key sees all, as with fills that are finite."""
    return np.where(table.any(axis=-1, keepdims=True), table, True)


def _mistaken(right: Table) -> Iterator[tuple[str, Table]]:
    length, keys = right.shape[-2:]
    causal = np.tril(np.ones((length, keys), dtype=bool), keys - length)
    by_key = np.broadcast_to(right.any(axis=-2, keepdims=True), right.shape)
    yield "mask_polarity_inverted", ~right
    if _is_causal(right):
        yield "padding_mask_ignored", np.broadcast_to(causal, right.shape)
        yield "decoder_not_causal", by_key
        yield "causal_mask_transposed", by_key & causal.T if length == keys else ~right
        yield "causal_diagonal_off_by_one", by_key & np.tril(np.ones_like(causal), keys - length + 1)
        yield "causal_mask_excludes_self", by_key & np.tril(np.ones_like(causal), keys - length - 1)
    else:
        yield "padding_mask_ignored", np.ones_like(right)
        yield "encoder_made_causal", by_key & causal


def _is_causal(table: Table) -> bool:
    """Return whether no query sees a later key, and some see several."""
    length, keys = table.shape[-2:]
    later = ~np.tril(np.ones((length, keys), dtype=bool), keys - length)
    return length > 1 and not table[..., later].any() and bool((table.sum(axis=-1) > 1).any())
