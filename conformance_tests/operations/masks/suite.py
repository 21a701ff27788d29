"""The suites of causal and padding masks."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.masks.cases import (
    CausalMaskCase,
    CausalMaskSpace,
    PaddingMaskCase,
    PaddingMaskSpace,
    causal_mask_cases,
    padding_mask_cases,
)
from veriformer.conformance_tests.operations.masks.inputs import CausalMaskInputs, PaddingMaskInputs
from veriformer.conformance_tests.operations.masks.rarities import CAUSAL_MASKS, PADDING_MASKS

_VARIANTS = "veriformer.conformance_tests.operations.masks.variants"
SUITES = (
    Suite(
        "causal_mask",
        space=lambda _: CausalMaskSpace(),
        draw=causal_mask_cases,
        inputs=CausalMaskInputs,
        weight=5,
        ordinary=CausalMaskCase(3, 4),
        rarities=CAUSAL_MASKS,
        variants=(_VARIANTS, "CAUSAL_MASK"),
        given=lambda _, arguments: CausalMaskInputs(**arguments),
    ),
    Suite(
        "padding_mask",
        space=lambda _: PaddingMaskSpace(),
        draw=padding_mask_cases,
        inputs=PaddingMaskInputs,
        weight=6,
        ordinary=PaddingMaskCase((2, 3), 4),
        rarities=PADDING_MASKS,
        variants=(_VARIANTS, "PADDING_MASK"),
        given=lambda _, arguments: PaddingMaskInputs(**arguments),
    ),
)
