"""Seed document 000, worked example 1: attention by hand for two tokens."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    attention,
    attention_weights,
    identity,
    matrix,
    product,
    scale,
    softmax,
    transpose,
    vector,
)
from veriformer.spec.worked_examples.example import (
    Execution,
    WorkedExample,
    attention_execution,
    softmax_execution,
)
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.verdict import Verdict

QUERY = matrix("1 0", "0 1")
KEY = matrix("1 0", "1 1")
VALUE = matrix("1 2", "3 4")
_ROOT = sympy.sqrt(2)
_SCORES = product(QUERY, transpose(KEY))
_SCALED = scale(_SCORES, 1 / _ROOT)
_WEIGHTS = attention_weights(QUERY, KEY)
_OUTPUT = attention(QUERY, KEY, VALUE)
_EXPONENTIAL = sympy.exp(1 / _ROOT)
_PRINTED_WEIGHTS = vector("0.33 0.67")
_PROJECTIONS = {
    "w_q": QUERY,
    "w_k": KEY,
    "w_v": VALUE,
    "w_o": identity(2),
    "b_q": None,
    "b_k": None,
    "b_v": None,
    "b_o": None,
}

_SCORE_EXAMPLES = (
    WorkedExample(
        id="seed_000.key_transpose",
        document="000",
        line=424,
        title="The keys, transposed",
        fragment="Kᵀ = [[1, 1],\n\n    [0, 1]]",
        printed=rows("1 1", "0 1"),
        exact=transpose(KEY),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.raw_scores",
        document="000",
        line=428,
        title="Raw scores Q Kᵀ of two tokens",
        fragment=(
            "S = QKᵀ = [[1, 0],\n\n    [0, 1]] [[1, 1],\n\n    [0, 1]]\n\n"
            "    = [[1⋅1 + 0⋅0, 1⋅1 + 0⋅1],\n\n    [0⋅1 + 1⋅0, 0⋅1 + 1⋅1]]\n\n    = [[1, 1],\n\n    [0, 1]]"
        ),
        printed=rows("1 1", "0 1"),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.scaled_scores_as_radicals",
        document="000",
        line=444,
        title="Scores divided by √2, as radicals",
        fragment="Ŝ = S / √2 = [[1/√2, 1/√2],\n\n    [0/√2, 1/√2]]",
        printed=(
            (claim("1/√2", 1 / _ROOT), claim("1/√2", 1 / _ROOT)),
            (claim("0/√2", 0), claim("1/√2", 1 / _ROOT)),
        ),
        exact=_SCALED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.scaled_scores",
        document="000",
        line=448,
        title="Scores divided by √2, as decimals",
        fragment="= [[0.7071, 0.7071],\n\n    [0, 0.7071]] (approx)",
        printed=rows("0.7071 0.7071", "0 0.7071"),
        exact=_SCALED,
        verdict=Verdict.ROUNDED,
    ),
)

_WEIGHT_EXAMPLES = (
    WorkedExample(
        id="seed_000.equal_scores",
        document="000",
        line=454,
        title="Equal scores share the weight equally",
        fragment="softmax([0.7071, 0.7071]) = [0.5, 0.5]",
        printed=numbers("0.5 0.5"),
        exact=softmax(vector("0.7071 0.7071")),
        verdict=Verdict.CORRECT,
        execution=softmax_execution(vector("0.7071 0.7071"), softmax(vector("0.7071 0.7071"))),
    ),
    WorkedExample(
        id="seed_000.exponential_of_zero",
        document="000",
        line=460,
        title="The exponential of the score 0",
        fragment="exp(0) = 1",
        printed=number("1"),
        exact=sympy.exp(_SCALED[1][0]),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.exponential_of_scaled_score",
        document="000",
        line=462,
        title="The exponential of the score 1/√2",
        fragment="exp(0.7071) ≈ 2.028",
        printed=number("2.028"),
        exact=_EXPONENTIAL,
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_000.softmax_denominator",
        document="000",
        line=464,
        title="The sum of the second row's exponentials",
        fragment="Sum ≈ 3.028",
        printed=number("3.028"),
        exact=1 + _EXPONENTIAL,
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_000.second_row_quotients",
        document="000",
        line=466,
        title="The second row's weights from the rounded exponentials",
        fragment="[1/3.028, 2.028/3.028] ≈ [0.330, 0.670]",
        printed=numbers("0.330 0.670"),
        exact=(1 / sympy.Rational("3.028"), sympy.Rational("2.028") / sympy.Rational("3.028")),
        verdict=Verdict.ROUNDED,
        note="Rounding the exponentials first does not change the printed digits.",
    ),
    WorkedExample(
        id="seed_000.second_row_weights",
        document="000",
        line=466,
        title="The second row's weights",
        fragment="So row 2 ≈ [1/3.028, 2.028/3.028] ≈ [0.330, 0.670]",
        printed=numbers("0.330 0.670"),
        exact=_WEIGHTS[1],
        verdict=Verdict.ROUNDED,
        execution=softmax_execution(_SCALED[1], _WEIGHTS[1]),
    ),
    WorkedExample(
        id="seed_000.weights",
        document="000",
        line=470,
        title="Attention weights of two tokens",
        fragment="A ≈ [[0.5, 0.5],\n\n    [0.33, 0.67]]",
        printed=rows("0.5 0.5", "0.33 0.67"),
        exact=_WEIGHTS,
        verdict=Verdict.ROUNDED,
        execution=attention_execution("attention_weights", QUERY, KEY, _WEIGHTS),
    ),
)

_OUTPUT_EXAMPLES = (
    WorkedExample(
        id="seed_000.first_output",
        document="000",
        line=476,
        title="The first token averages both values",
        fragment="O₁ = 0.5⋅[1,2] + 0.5⋅[3,4] = [2,3]",
        printed=numbers("2 3"),
        exact=_OUTPUT[0],
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.second_output_terms",
        document="000",
        line=478,
        title="The second output's terms from the printed weights",
        fragment="O₂ = 0.33⋅[1,2] + 0.67⋅[3,4]\n\n    = [0.33 + 2.01, 0.66 + 2.68]",
        printed=rows("0.33 2.01", "0.66 2.68"),
        exact=tuple(
            tuple(weight * entry for weight, entry in zip(_PRINTED_WEIGHTS, column, strict=True))
            for column in transpose(VALUE)
        ),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.second_output",
        document="000",
        line=482,
        title="The second token leans on the second value",
        fragment="= [2.34, 3.34] (approx)",
        printed=numbers("2.34 3.34"),
        exact=_OUTPUT[1],
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_000.output",
        document="000",
        line=486,
        title="Attention of two tokens",
        fragment="O ≈ [[2.00, 3.00],\n\n    [2.34, 3.34]]",
        printed=rows("2.00 3.00", "2.34 3.34"),
        exact=_OUTPUT,
        verdict=Verdict.ROUNDED,
        execution=attention_execution("scaled_dot_product_attention", QUERY, KEY, _OUTPUT, value=VALUE),
    ),
    WorkedExample(
        id="seed_000.projected_output",
        document="000",
        line=408,
        title="The same attention as one projected head",
        fragment="Q = [[1, 0],\n\n[0, 1]]\n\nK = [[1, 0],\n\n[1, 1]]\n\nV = [[1, 2],\n\n[3, 4]]",
        printed=None,
        exact=_OUTPUT,
        verdict=Verdict.NOT_GIVEN,
        note="With one-hot tokens the projection matrices are Q, K and V themselves, and W_O is the identity.",
        execution=Execution(
            "multi_head_attention",
            {"x": (identity(2),), "context": (identity(2),), "weights": _PROJECTIONS, "num_heads": 1},
            (_OUTPUT,),
        ),
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_SCORE_EXAMPLES, *_WEIGHT_EXAMPLES, *_OUTPUT_EXAMPLES)
