"""Rarities of the gradients of attention between projections: those of its forward passes, and of the gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.attention import rarities

_OF_SINGLE = ("grad_x", "grad_w_q", "grad_w_k", "grad_w_v")
_OF_MULTI = (*_OF_SINGLE, "grad_context", "grad_w_o")
_GRADIENTS = "minus_zero subnormal zero negative positive small constant large whole"


def _of(laws: tuple[str, ...], forward: Iterable[Rarity]) -> tuple[Rarity, ...]:
    """Return the rarities of a forward pass that concern its value, biases or mask, for the laws of the gradients."""
    kept = (one for one in forward if set(one.laws) <= {"scale", "value", "biases", "mask.value"})
    of_gradients = tuple(one if one.laws == ("mask.value",) else replace(one, laws=laws) for one in kept)
    return (*of_gradients, *of_values(laws, "grad_output", _GRADIENTS))


# Square matrices, which a program may forget to transpose.
_SQUARE = tuple(Rarity((law,), {"heads": 2, "kv_heads": 2, "head_width": 2, "value_width": 2}) for law in _OF_MULTI)
MULTI_HEAD = (
    *_of(_OF_MULTI, rarities.MULTI_HEAD),
    *_SQUARE,
    *of_sizes(_OF_MULTI, "batch", (5,), query_length=2, key_length=3),
)
SINGLE_HEAD = (
    *_of(_OF_SINGLE, rarities.SINGLE_HEAD),
    *of_sizes(_OF_SINGLE, "batch", (5, 17), query_length=2, key_length=2),
)
