"""Seed document 000, practice: attention of three tokens of width one."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    attention,
    attention_weights,
    matrix,
    product,
    softmax,
    transpose,
)
from veriformer.spec.worked_examples.example import WorkedExample, attention_execution, softmax_execution
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.verdict import Verdict

QUERY = matrix("2", "0", "1")
KEY = matrix("1", "3", "-1")
VALUE = matrix("10", "20", "30")
_SCORES = product(QUERY, transpose(KEY))
_WEIGHTS = attention_weights(QUERY, KEY)
_OUTPUT = attention(QUERY, KEY, VALUE)
_POWER_1, _POWER_2, _POWER_3, _POWER_6 = (sympy.exp(power) for power in (1, 2, 3, 6))
_FIRST_TOTAL = _POWER_2 + _POWER_6 + 1 / _POWER_2
_THIRD_TOTAL = _POWER_1 + _POWER_3 + 1 / _POWER_1
_FIRST_OUTPUT = (10 * _POWER_2 + 20 * _POWER_6 + 30 / _POWER_2) / _FIRST_TOTAL
_THIRD_OUTPUT = (10 * _POWER_1 + 20 * _POWER_3 + 30 / _POWER_1) / _THIRD_TOTAL

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_000.practice_scale",
        document="000",
        line=598,
        title="The scale of width one",
        fragment="(no scaling needed because √d_k = 1)",
        printed=number("1"),
        exact=sympy.sqrt(len(QUERY[0])),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.practice_scores",
        document="000",
        line=606,
        title="Scores of three tokens",
        fragment=(
            "Row 1 (q₁=2): [2⋅1, 2⋅3, 2⋅(−1)] = [2, 6, −2]\n\nRow 2 (q₂=0): [0, 0, 0]\n\n"
            "Row 3 (q₃=1): [1, 3, −1]\n\nSo S = [[2,6,−2],[0,0,0],[1,3,−1]]."
        ),
        printed=rows("2 6 −2", "0 0 0", "1 3 −1"),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.practice_first_row",
        document="000",
        line=616,
        title="Weights of the first token",
        fragment="softmax([2,6,−2]) = [e², e⁶, e^{−2}] / (e² + e⁶ + e^{−2})",
        printed=(
            claim("e²", _POWER_2 / _FIRST_TOTAL),
            claim("e⁶", _POWER_6 / _FIRST_TOTAL),
            claim("e^{−2}", 1 / _POWER_2 / _FIRST_TOTAL),
        ),
        exact=softmax(_SCORES[0]),
        verdict=Verdict.CORRECT,
        execution=softmax_execution(_SCORES[0], softmax(_SCORES[0])),
    ),
    WorkedExample(
        id="seed_000.practice_second_row",
        document="000",
        line=618,
        title="Weights of a token that asks for nothing",
        fragment="softmax([0,0,0]) = [1/3,1/3,1/3]",
        printed=numbers("1/3 1/3 1/3"),
        exact=softmax(_SCORES[1]),
        verdict=Verdict.CORRECT,
        execution=softmax_execution(_SCORES[1], softmax(_SCORES[1])),
    ),
    WorkedExample(
        id="seed_000.practice_third_row",
        document="000",
        line=620,
        title="Weights of the third token",
        fragment="softmax([1,3,−1]) = [e¹, e³, e^{−1}] / (e¹ + e³ + e^{−1})",
        printed=(
            claim("e¹", _POWER_1 / _THIRD_TOTAL),
            claim("e³", _POWER_3 / _THIRD_TOTAL),
            claim("e^{−1}", 1 / _POWER_1 / _THIRD_TOTAL),
        ),
        exact=softmax(_SCORES[2]),
        verdict=Verdict.CORRECT,
        execution=softmax_execution(_SCORES[2], softmax(_SCORES[2])),
    ),
    WorkedExample(
        id="seed_000.practice_weights",
        document="000",
        line=598,
        title="Weights of three tokens",
        fragment="Compute S = QKᵀ, then A = softmax(S) row-wise",
        printed=None,
        exact=_WEIGHTS,
        verdict=Verdict.NOT_GIVEN,
        note="The document prints the three rows one by one and as exponentials.",
        execution=attention_execution("attention_weights", QUERY, KEY, _WEIGHTS),
    ),
    WorkedExample(
        id="seed_000.practice_output",
        document="000",
        line=624,
        title="Attention of three tokens",
        fragment=("O₁ = 10A₁₁ + 20A₁₂ + 30A₁₃\n\nO₂ = (10+20+30)/3 = 20\n\nO₃ = 10A₃₁ + 20A₃₂ + 30A₃₃"),
        printed=(
            (claim("10A₁₁ + 20A₁₂ + 30A₁₃", _FIRST_OUTPUT),),
            (number("20"),),
            (claim("10A₃₁ + 20A₃₂ + 30A₃₃", _THIRD_OUTPUT),),
        ),
        exact=_OUTPUT,
        verdict=Verdict.CORRECT,
        note="The document leaves the first and the third row as formulas.",
        execution=attention_execution("scaled_dot_product_attention", QUERY, KEY, _OUTPUT, value=VALUE),
    ),
)
