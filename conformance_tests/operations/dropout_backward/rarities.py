"""Rarities of the gradient of dropout."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors

_LAWS = ("grad_x",)
GRADIENTS = (
    *gradients_of_vectors(_LAWS, f"{OF_VECTORS} large hundred", most=1025),
    *(Rarity(_LAWS, {"rate": rate}) for rate in (0.01, 0.9)),
)
