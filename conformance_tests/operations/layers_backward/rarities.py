"""Rarities of the gradients of encoder and decoder layers: those of the layers, and of the gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.layers import rarities

_OF_ENCODER = ("grad_x", "grad_self_attention", "grad_feed_forward", "grad_norms")
_OF_DECODER = (*_OF_ENCODER, "grad_memory", "grad_cross_attention")


def _of(laws: tuple[str, ...], forward: Iterable[Rarity]) -> tuple[Rarity, ...]:
    """Return the rarities of a layer for the laws of its gradients, each with its norms before and behind."""
    placed = (
        replace(one, laws=laws, fields={**one.fields, "norm_first": first})
        for one in forward
        for first in (True, False)
    )
    return (
        *placed,
        *of_sizes(laws, "batch", (5,), length=2),
        *(Rarity((law,), {"batch": 2, "length": 1}) for law in laws),
        *of_values(laws, "grad_output", "zero negative positive small constant whole"),
    )


ENCODER_LAYER = _of(_OF_ENCODER, rarities.ENCODER_LAYER)
DECODER_LAYER = _of(_OF_DECODER, rarities.DECODER_LAYER)
