"""Seed document 000: head widths and the shapes of multi-head attention."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.shapes import (
    concatenated_shape,
    product_shape,
    shape,
    transposed_shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_FAMILIES = ("encoder-only", "decoder-only", "encoder–decoder")
_TOKENS = shape(3, 8)
_PROJECTION = shape(8, sympy.Rational(8, 2))
_HEAD = product_shape(_TOKENS, _PROJECTION)
_SCORES = product_shape(_HEAD, transposed_shape(_HEAD))
_MIXED = product_shape(_SCORES, _HEAD)
_CONCATENATED = concatenated_shape(_MIXED, 2)
_LONG_HEAD = product_shape(shape(128, 1024), shape(1024, sympy.Rational(1024, 16)))

_WORKED = (
    WorkedExample(
        id="seed_000.two_families",
        document="000",
        line=105,
        title="The number of Transformer families",
        fragment=(
            "The two canonical Transformer families #\n\nFamilyPrimary useBlocksKey masking\n"
            "Encoder-only (e.g., BERT-style)"
        ),
        printed=claim("two", 2),
        exact=sympy.Integer(len(_FAMILIES)),
        verdict=Verdict.WRONG,
        note="The table below the heading has three rows.",
    ),
    WorkedExample(
        id="seed_000.head_width_768",
        document="000",
        line=204,
        title="Head width of 768 in 12 heads",
        fragment="d_model = 768, h = 12 ⇒ d_k = 64",
        printed=number("64"),
        exact=sympy.Rational(768, 12),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.head_width_8",
        document="000",
        line=494,
        title="Head width of 8 in 2 heads",
        fragment="d_model = 8, number of heads h = 2. Then per-head dimension d_k = d_v = d_model / h = 4",
        printed=number("4"),
        exact=sympy.Rational(8, 2),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.projected_shapes",
        document="000",
        line=506,
        title="Shapes of the projected queries, keys and values of a head",
        fragment=(
            "Q^{(r)} = XW_Q^{(r)} ∈ ℝ^{3×4}\n\n    K^{(r)} = XW_K^{(r)} ∈ ℝ^{3×4}\n\n    V^{(r)} = XW_V^{(r)} ∈ ℝ^{3×4}"
        ),
        printed=rows("3 4", "3 4", "3 4"),
        exact=(_HEAD, _HEAD, _HEAD),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.score_shape",
        document="000",
        line=518,
        title="Shape of the scores of a head",
        fragment="(3×4)(4×3) = 3×3",
        printed=numbers("3 3"),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.head_output_shape",
        document="000",
        line=528,
        title="Shape of the output of a head",
        fragment="(3×3)(3×4) = 3×4",
        printed=numbers("3 4"),
        exact=_MIXED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.concatenated_shape",
        document="000",
        line=534,
        title="Shape of the concatenated heads",
        fragment=(
            "O_concat = [O^{(1)} | O^{(2)}] ∈ ℝ^{3×8}.\n\n    Because concatenation along features gives 4 + 4 = 8."
        ),
        printed=numbers("3 8"),
        exact=_CONCATENATED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.multi_head_output_shape",
        document="000",
        line=540,
        title="Shape of the output of multi-head attention",
        fragment="W_O ∈ ℝ^{8×8}.\n\n    Y = O_concat W_O ∈ ℝ^{3×8}.",
        printed=numbers("3 8"),
        exact=product_shape(_CONCATENATED, shape(8, 8)),
        verdict=Verdict.CORRECT,
    ),
)

_PRACTICE = (
    WorkedExample(
        id="seed_000.head_width_1024",
        document="000",
        line=638,
        title="Head width of 1024 in 16 heads",
        fragment="d_k = 1024 / 16 = 64",
        printed=number("64"),
        exact=sympy.Rational(1024, 16),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.projection_shape_1024",
        document="000",
        line=640,
        title="Shape of a head's query projection",
        fragment="W_Q^{(r)} ∈ ℝ^{1024×64}",
        printed=numbers("1024 64"),
        exact=shape(1024, sympy.Rational(1024, 16)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.score_shape_128",
        document="000",
        line=642,
        title="Shape of the scores of 128 tokens",
        fragment="(128×64)(64×128) = 128×128",
        printed=numbers("128 128"),
        exact=product_shape(_LONG_HEAD, transposed_shape(_LONG_HEAD)),
        verdict=Verdict.CORRECT,
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_WORKED, *_PRACTICE)
