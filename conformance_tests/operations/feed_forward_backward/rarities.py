"""Rarities of the gradients of feed-forward networks."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values, some_absent
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES, BIASES, RANKS

_OF_PLAIN = ("grad_x", "grad_w_1", "grad_w_2")
_OF_BIASES = ("grad_b_1", "grad_b_2")
_OF_GATED = ("grad_x", "grad_w_gate", "grad_w_up", "grad_w_down")


def _network(laws: tuple[str, ...]) -> tuple[Rarity, ...]:
    return (
        *of_values(laws, "x grad_output", ANY_VALUES, batch=2, rows=3, width=5, hidden=7),
        *(Rarity(laws, {"batch": 2, "rows": 3}, (("x", rank), ("grad_output", rank))) for rank in RANKS.split()),
        *of_sizes(laws, "width", (65, 129, 513), batch=1, rows=2, hidden=3),
        *of_sizes(laws, "hidden", (65, 129, 513, 1025), batch=1, rows=2, width=3),
        *of_sizes(laws, "rows", (140, 1030), batch=1, width=3, hidden=2),
        *of_sizes(laws, "batch", (17, 130), rows=1, width=3, hidden=2),
        Rarity(laws, {"batch": 2, "rows": 2, "width": 3, "hidden": 4}),
        Rarity(laws, {"batch": 2, "rows": 2, "width": 3, "hidden": 4}, (("grad_output", "same_as_x"),)),
        # Square matrices, which a program may forget to transpose.
        *(Rarity((law,), {"batch": 2, "rows": 2, "width": 4, "hidden": 4}) for law in laws),
    )


FEED_FORWARD = (
    *_network(_OF_PLAIN),
    *some_absent(_OF_PLAIN, ("weights.b_1", "weights.b_2"), batch=2, rows=2, width=4, hidden=5),
    *of_values(_OF_BIASES, "weights.b_1 weights.b_2", BIASES, biases=True, width=3, hidden=4),
    *of_values(_OF_PLAIN, "weights.w_1 weights.w_2", "zero positive whole", biases=True, width=3, hidden=4),
    *of_sizes(_OF_BIASES, "rows", (140,), biases=True, batch=3, width=3, hidden=2),
)
GATED = (
    *_network(_OF_GATED),
    *of_values(_OF_GATED, "weights.w_gate weights.w_up weights.w_down", "zero positive whole", width=3, hidden=4),
)
