"""Rarities of feed-forward networks."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values, some_absent
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES, BIASES, RANKS, VALUE

_NETWORK = (
    *of_values(VALUE, "x", f"{RANKS} {ANY_VALUES}", batch=2, rows=3, width=5, hidden=7),
    *of_sizes(VALUE, "width", (65, 129, 513), batch=1, rows=2, hidden=3),
    *of_sizes(VALUE, "hidden", (65, 129, 513, 1025), batch=1, rows=2, width=3),
    *of_sizes(VALUE, "rows", (140,), batch=1, width=3, hidden=2),
    Rarity(VALUE, {"batch": 2, "rows": 2, "width": 3, "hidden": 4}),
    Rarity(VALUE, {"batch": 2, "rows": 2, "width": 4, "hidden": 4}),
)
FEED_FORWARD = (
    *_NETWORK,
    *some_absent(VALUE, ("weights.b_1", "weights.b_2"), batch=2, rows=2, width=4, hidden=5),
    *of_values(VALUE, "weights.b_1 weights.b_2", BIASES, biases=True, width=3, hidden=4),
    *of_values(VALUE, "weights.w_1 weights.w_2", "zero positive whole", biases=True, width=3, hidden=4),
)
GATED = (
    *_NETWORK,
    *of_values(VALUE, "weights.w_gate weights.w_up weights.w_down", "zero positive whole", width=3, hidden=4),
)
