"""Rarities of the gradients of normalisation."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_values
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors
from veriformer.conformance_tests.operations.normalisation.rarities import GAINS

_OF_RMS_NORM = ("grad_x", "grad_gamma")
_OF_LAYER_NORM = (*_OF_RMS_NORM, "grad_beta")


def _of(laws: tuple[str, ...]) -> tuple[Rarity, ...]:
    return (
        *gradients_of_vectors(laws, f"{OF_VECTORS} large", most=4097),
        *of_values(laws, "gamma", f"{GAINS} large", batch=2, rows=2, width=6),
        *(Rarity(laws, {"width": 5, "eps": eps}) for eps in (1e-6, 1e-8, 1e-12)),
    )


RMS_NORM = _of(_OF_RMS_NORM)
LAYER_NORM = (
    *_of(_OF_LAYER_NORM),
    *of_values(_OF_LAYER_NORM, "beta", f"{GAINS} large hundred", batch=2, rows=2, width=6),
    Rarity(_OF_LAYER_NORM, {"batch": 2, "rows": 2, "width": 6}, (("gamma", "same_as_beta"),)),
    Rarity(_OF_LAYER_NORM, {"batch": 2, "rows": 2, "width": 1}),
)
