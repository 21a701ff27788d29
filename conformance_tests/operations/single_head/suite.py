"""The suite of attention with one head's projections."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.attention.case import MASK_SHAPES_OF_ONE_HEAD, AttentionSpace, suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.rarities import SINGLE_HEAD
from veriformer.conformance_tests.operations.attention.suite import ORDINARY
from veriformer.conformance_tests.operations.single_head.inputs import SingleHeadInputs


def one_head_inputs(how: How) -> AttentionSpace:
    """Return the space of ordinary cases of attention of one head."""
    return AttentionSpace(mask=how, lengths="equal", heads=1, biases="never", mask_shapes=MASK_SHAPES_OF_ONE_HEAD)


SUITES = (
    Suite(
        "single_head_attention",
        space=one_head_inputs,
        draw=attention_cases,
        inputs=SingleHeadInputs,
        weight=25,
        ordinary=replace(ORDINARY, heads=1, kv_heads=1, key_length=3),
        rarities=SINGLE_HEAD,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.single_head.variants", "SINGLE_HEAD"),
        given=SingleHeadInputs.given,
    ),
)
