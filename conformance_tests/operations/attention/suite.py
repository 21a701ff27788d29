"""The suites of attention and of its weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.attention.case import AttentionCase, AttentionSpace, suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.attention.rarities import ATTENTION, GROUPED, WEIGHTS

ORDINARY = AttentionCase(2, 2, 2, 3, 4, 5, 6, palette="normal")


def optional_inputs(how: How) -> AttentionSpace:
    """Return the space of ordinary cases of attention."""
    return AttentionSpace(mask=how, causal=how, bias=how, scale=how)


SUITES = tuple(
    Suite(
        name,
        space=optional_inputs,
        draw=attention_cases,
        inputs=AttentionInputs,
        weight=weight,
        ordinary=ordinary,
        rarities=rarities,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.attention.variants.formula", "ATTENTION"),
        given=partial(AttentionInputs.given, name),
    )
    for name, weight, ordinary, rarities in (
        ("scaled_dot_product_attention", 45, ORDINARY, ATTENTION),
        ("grouped_query_attention", 42, replace(ORDINARY, heads=4), GROUPED),
        ("attention_weights", 30, ORDINARY, WEIGHTS),
    )
)
