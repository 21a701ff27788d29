"""Seed document 001: the attention of "cat" in "The cat sat"."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    additive_causal_mask,
    attention,
    attention_weights,
    matrix,
    product,
    scale,
    transpose,
    vector,
)
from veriformer.spec.worked_examples.example import WorkedExample, attention_execution
from veriformer.spec.worked_examples.printed import claim, number, numbers
from veriformer.spec.worked_examples.verdict import Verdict

QUERY = matrix("0.2 0.5 0.1", "0.8 0.3 0.4", "0.4 0.7 0.2")
KEY = matrix("0.3 0.4 0.2", "0.7 0.5 0.3", "0.5 0.6 0.4")
VALUE = matrix("1 0 0.5", "0.5 1 0.3", "0.2 0.5 1")
CAT = (QUERY[1],)
_SCORES = product(CAT, transpose(KEY))
_WEIGHTS = attention_weights(CAT, KEY)
_OUTPUT = attention(CAT, KEY, VALUE)
_PRINTED_WEIGHTS = (vector("0.24 0.41 0.35"),)
_ALL_OUTPUTS = attention(QUERY, KEY, VALUE)
_CAUSAL_OUTPUTS = attention(QUERY, KEY, VALUE, additive_causal_mask(3))


def _inverse_temperature(word: int) -> sympy.Expr:
    """Return β with exp(β (s_cat − s_word)) = the quotient of the two printed weights."""
    printed, scores = _PRINTED_WEIGHTS[0], _SCORES[0]
    return sympy.log(printed[1] / printed[word]) / (scores[1] - scores[word])


_STEPS = (
    WorkedExample(
        id="seed_001.cat_scores",
        document="001",
        line=84,
        title='Scores of "cat" against every word',
        fragment=(
            '• "cat" → "The": $Q_2 \\cdot K_1 = 0.8×0.3 + 0.3×0.4 + 0.4×0.2 = 0.44$\n'
            '• "cat" → "cat": $Q_2 \\cdot K_2 = 0.8×0.7 + 0.3×0.5 + 0.4×0.3 = 0.83$\n'
            '• "cat" → "sat": $Q_2 \\cdot K_3 = 0.8×0.5 + 0.3×0.6 + 0.4×0.4 = 0.74$'
        ),
        printed=numbers("0.44 0.83 0.74"),
        exact=_SCORES[0],
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_001.root_of_three",
        document="001",
        line=88,
        title="The scale of width three",
        fragment="$\\sqrt{d_k} = \\sqrt{3} \\approx 1.73$",
        printed=number("1.73"),
        exact=sympy.sqrt(3),
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_001.cat_scaled_scores",
        document="001",
        line=89,
        title='Scores of "cat" divided by √3',
        fragment="Scaled scores: $[0.25, 0.48, 0.43]$",
        printed=numbers("0.25 0.48 0.43"),
        exact=scale(_SCORES, 1 / sympy.sqrt(3))[0],
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_001.cat_weights",
        document="001",
        line=90,
        title='Attention weights of "cat"',
        fragment="After softmax: $[0.24, 0.41, 0.35]$",
        printed=numbers("0.24 0.41 0.35"),
        exact=_WEIGHTS[0],
        verdict=Verdict.WRONG,
        note="No rounding and no other temperature gives the printed weights.",
        execution=attention_execution("attention_weights", CAT, KEY, _WEIGHTS),
    ),
    WorkedExample(
        id="seed_001.cat_temperatures",
        document="001",
        line=90,
        title="The inverse temperatures that the printed weights would need",
        fragment="After softmax: $[0.24, 0.41, 0.35]$",
        printed=None,
        exact=(_inverse_temperature(0), _inverse_temperature(2)),
        verdict=Verdict.NOT_GIVEN,
        note='For "cat" beside "The", and beside "sat": two numbers where softmax has one, 1/√3 = 0.577350.',
    ),
    WorkedExample(
        id="seed_001.cat_weight_sum",
        document="001",
        line=90,
        title="The sum of the printed weights",
        fragment="$[0.24, 0.41, 0.35]$ ← attention weights (sum to 1)",
        printed=number("1"),
        exact=sympy.Add(*_PRINTED_WEIGHTS[0]),
        verdict=Verdict.CORRECT,
        note="Wrong weights can sum to 1 too.",
    ),
    WorkedExample(
        id="seed_001.cat_output_from_printed_weights",
        document="001",
        line=94,
        title='The output of "cat" from the printed weights',
        fragment=(
            "$= 0.24 \\times [1.0, 0.0, 0.5] + 0.41 \\times [0.5, 1.0, 0.3] + 0.35 \\times [0.2, 0.5, 1.0]$\n"
            "$= [0.515, 0.585, 0.597]$"
        ),
        printed=numbers("0.515 0.585 0.597"),
        exact=product(_PRINTED_WEIGHTS, VALUE)[0],
        verdict=Verdict.WRONG,
        note="Even by the document's own weights the third entry is 0.12 + 0.123 + 0.35 = 0.593.",
    ),
    WorkedExample(
        id="seed_001.cat_output",
        document="001",
        line=95,
        title='The output of "cat"',
        fragment="$= [0.515, 0.585, 0.597]$",
        printed=numbers("0.515 0.585 0.597"),
        exact=_OUTPUT[0],
        verdict=Verdict.WRONG,
        note="It follows from wrong weights.",
        execution=attention_execution("scaled_dot_product_attention", CAT, KEY, _OUTPUT, value=VALUE),
    ),
    WorkedExample(
        id="seed_001.cat_percentages",
        document="001",
        line=96,
        title='How much "cat" attends to itself, "sat" and "The"',
        fragment='"cat" attends mostly to itself (41%) and "sat" (35%), with less attention to "The" (24%)',
        printed=numbers("41% 35% 24%"),
        exact=(_WEIGHTS[0][1], _WEIGHTS[0][2], _WEIGHTS[0][0]),
        verdict=Verdict.WRONG,
        note="The order of the three words is right.",
    ),
    WorkedExample(
        id="seed_001.cat_mostly_itself",
        document="001",
        line=96,
        title='Whether "cat" attends mostly to itself',
        fragment='"cat" attends mostly to itself',
        printed=claim("mostly to itself", sympy.true),
        exact=_WEIGHTS[0][1] > sympy.Rational(1, 2),
        verdict=Verdict.WRONG,
        note="The largest weight is not half of the whole.",
    ),
)

_ALL_WORDS = (
    WorkedExample(
        id="seed_001.all_words_output",
        document="001",
        line=79,
        title="The outputs of all three words",
        fragment='• "The": $Q_1 = [0.2, 0.5, 0.1]$, $K_1 = [0.3, 0.4, 0.2]$, $V_1 = [1.0, 0.0, 0.5]$',
        printed=None,
        exact=_ALL_OUTPUTS,
        verdict=Verdict.NOT_GIVEN,
        note='The document prints queries for all words and follows "cat" alone.',
        execution=attention_execution("scaled_dot_product_attention", QUERY, KEY, _ALL_OUTPUTS, value=VALUE),
    ),
    WorkedExample(
        id="seed_001.all_words_causal_output",
        document="001",
        line=292,
        title="The outputs of all three words under the causal mask",
        fragment="Position $i$ can only attend to positions $\\leq i$",
        printed=None,
        exact=_CAUSAL_OUTPUTS,
        verdict=Verdict.NOT_GIVEN,
        note="The first word sees itself alone, so its output is its own value.",
        execution=attention_execution(
            "scaled_dot_product_attention", QUERY, KEY, _CAUSAL_OUTPUTS, value=VALUE, is_causal=True
        ),
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_STEPS, *_ALL_WORDS)
