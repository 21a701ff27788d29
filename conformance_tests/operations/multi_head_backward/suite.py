"""The suites of the gradients of attention between projections."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.attention.case import suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs
from veriformer.conformance_tests.operations.multi_head_backward.inputs import (
    MultiHeadBackwardInputs,
    SingleHeadBackwardInputs,
)
from veriformer.conformance_tests.operations.multi_head_backward.rarities import MULTI_HEAD, SINGLE_HEAD
from veriformer.conformance_tests.operations.single_head.suite import one_head_inputs

_VARIANTS = "veriformer.conformance_tests.operations.multi_head_backward.variants"
SUITES = (
    Suite(
        "multi_head_attention_backward",
        space=optional_inputs,
        draw=attention_cases,
        inputs=MultiHeadBackwardInputs,
        weight=62,
        ordinary=ORDINARY,
        rarities=MULTI_HEAD,
        suited=suited,
        variants=(_VARIANTS, "MULTI_HEAD_BACKWARD"),
        given=MultiHeadBackwardInputs.given,
    ),
    Suite(
        "single_head_attention_backward",
        space=one_head_inputs,
        draw=attention_cases,
        inputs=SingleHeadBackwardInputs,
        weight=40,
        ordinary=replace(ORDINARY, heads=1, kv_heads=1, key_length=3),
        rarities=SINGLE_HEAD,
        suited=suited,
        variants=(_VARIANTS, "SINGLE_HEAD_BACKWARD"),
        given=SingleHeadBackwardInputs.given,
    ),
)
