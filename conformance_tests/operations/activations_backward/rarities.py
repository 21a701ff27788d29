"""Rarities of the gradients of activations."""

from __future__ import annotations

from collections.abc import Mapping

from veriformer.conformance_tests.drawing.rarity import Rarity
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors


def _of_entries(kinds: str) -> tuple[Rarity, ...]:
    return gradients_of_vectors(("grad_x",), f"{OF_VECTORS} {kinds}", most=2049)


# The tanh form of torch and jax is 0 · ∞ where x² is infinite, in float32 beyond 1.8e19: no entry of a model is there.
ENTRIES: Mapping[str, tuple[Rarity, ...]] = {
    "gelu_backward": _of_entries("large far_below hundred"),
    "silu_backward": _of_entries("large huge far_below hundred"),
}
