"""The suite of multi-head attention."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.attention.case import suited
from veriformer.conformance_tests.operations.attention.drawing import attention_cases
from veriformer.conformance_tests.operations.attention.rarities import MULTI_HEAD
from veriformer.conformance_tests.operations.attention.suite import ORDINARY, optional_inputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

SUITES = (
    Suite(
        "multi_head_attention",
        space=optional_inputs,
        draw=attention_cases,
        inputs=MultiHeadInputs,
        weight=62,
        ordinary=ORDINARY,
        rarities=MULTI_HEAD,
        suited=suited,
        variants=("veriformer.conformance_tests.operations.multi_head.variants.formula", "MULTI_HEAD"),
        given=MultiHeadInputs.given,
    ),
)
