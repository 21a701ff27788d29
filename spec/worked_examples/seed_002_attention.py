"""Seed document 002: scores, weights and values of "The car is red"."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    attention,
    identity,
    matrix,
    product,
    softmax,
)
from veriformer.spec.worked_examples.example import WorkedExample, attention_execution, softmax_execution
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.verdict import Verdict

SCORES = matrix("0.1 0.8 0.3 0.2", "0.2 0.9 0.7 0.6", "0.1 0.8 0.4 0.5", "0.3 0.9 0.2 0.1")
PRINTED_WEIGHTS = matrix("0.1 0.5 0.2 0.2", "0.1 0.4 0.3 0.2", "0.1 0.4 0.2 0.3", "0.2 0.6 0.1 0.1")
VALUE = matrix("0.1 0.2 0.3 0.4", "1 0.8 0.5 0.2", "0.3 0.9 0.1 0.3", "0.7 0.2 0.8 1")
_WEIGHTS = tuple(softmax(row) for row in SCORES)
_OUTPUT = product(_WEIGHTS, VALUE)
_THE, _CAR, _IS, _RED = range(4)
_WEIGHTS_FRAGMENT = (
    "attention_weights = softmax(attention_scores) # Each row sums to 1.0\nattention_weights = [\n"
    '[0.1, 0.5, 0.2, 0.2], # "The" attention distribution\n'
    '[0.1, 0.4, 0.3, 0.2], # "car" attention distribution\n'
    '[0.1, 0.4, 0.2, 0.3], # "is" attention distribution\n'
    '[0.2, 0.6, 0.1, 0.1] # "red" attention distribution'
)


def _one_dimensional_output(second: int) -> sympy.Expr:
    """Return the second output of self-attention on the tokens (0, second)."""
    tokens = matrix("0", str(second))
    return attention(tokens, tokens, tokens)[1][0]


_CLAIMS = (
    WorkedExample(
        id="seed_002.car_attends_to_others",
        document="002",
        line=126,
        title='Whether "car" scores "The", "is" and "red" above itself',
        fragment=(
            "similarity(Q_car, K_the) = HIGH # car needs its determiner\n"
            "similarity(Q_car, K_is) = HIGH # car needs its predicate\n"
            "similarity(Q_car, K_red) = HIGH # car needs its attribute\n"
            "similarity(Q_car, K_car) = LOW"
        ),
        printed=(claim("HIGH", sympy.true),) * 3,
        exact=tuple(SCORES[_CAR][word] > SCORES[_CAR][_CAR] for word in (_THE, _IS, _RED)),
        verdict=Verdict.WRONG,
        note='In the document\'s own matrix "car" has its largest score with itself and its least with "The".',
    ),
    WorkedExample(
        id="seed_002.shares_of_the",
        document="002",
        line=149,
        title='What "The" takes from "car", "red" and "is"',
        fragment="I want 40% of car info, 25% of red info, 35% of is info",
        printed=numbers("40% 25% 35%"),
        exact=tuple(_WEIGHTS[_THE][word] for word in (_CAR, _RED, _IS)),
        verdict=Verdict.WRONG,
        note='The three shares sum to 100 % and leave nothing for "The" itself.',
    ),
    WorkedExample(
        id="seed_002.shares_of_the_by_printed_weights",
        document="002",
        line=149,
        title='What "The" takes by the document\'s own weights',
        fragment="40% of car info, 25% of red info, 35% of is info",
        printed=numbers("40% 25% 35%"),
        exact=tuple(PRINTED_WEIGHTS[_THE][word] for word in (_CAR, _RED, _IS)),
        verdict=Verdict.WRONG,
        note="The document contradicts its own table, which comes a few lines later.",
    ),
    WorkedExample(
        id="seed_002.attention_is_linear",
        document="002",
        line=209,
        title="Attention of the tokens (0, 1) doubled",
        fragment=(
            "predictable proportional behavior, scale input by 2, output scales by 2, add 2 inputs.\n"
            "- Linear functions can scale (stretch/shrink), rotate, project, combine (weighted sums), "
            "cannot create curves, make “if-then” decisions, separate complex patterns.\n"
            "- Basically all our attention operations are linear"
        ),
        printed=number("2"),
        exact=_one_dimensional_output(2) / _one_dimensional_output(1),
        verdict=Verdict.WRONG,
        note="1.964028 / 0.731059: attention is linear in the values alone.",
    ),
)

_WALKTHROUGH = (
    WorkedExample(
        id="seed_002.weight_sums",
        document="002",
        line=160,
        title="The sums of the printed rows of weights",
        fragment=_WEIGHTS_FRAGMENT,
        printed=(claim("Each row sums to 1.0", 1),) * 4,
        exact=tuple(sympy.Add(*row) for row in PRINTED_WEIGHTS),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.weights",
        document="002",
        line=160,
        title="Attention weights of four words",
        fragment=_WEIGHTS_FRAGMENT,
        printed=rows("0.1 0.5 0.2 0.2", "0.1 0.4 0.3 0.2", "0.1 0.4 0.2 0.3", "0.2 0.6 0.1 0.1"),
        exact=_WEIGHTS,
        verdict=Verdict.WRONG,
        note="All four rows are wrong, and no single temperature rounds to them.",
        execution=softmax_execution(SCORES, _WEIGHTS),
    ),
    WorkedExample(
        id="seed_002.weights_from_queries",
        document="002",
        line=130,
        title="The same weights from queries and keys",
        fragment="attention_scores = Q @ K^T # Shape: (4, 4)",
        printed=None,
        exact=_WEIGHTS,
        verdict=Verdict.NOT_GIVEN,
        note="With the identity for keys and a scale of 1 the queries are the scores.",
        execution=attention_execution("attention_weights", SCORES, identity(4), _WEIGHTS, scale=sympy.Integer(1)),
    ),
    WorkedExample(
        id="seed_002.output_from_printed_weights",
        document="002",
        line=168,
        title="Outputs by the printed weights",
        fragment="# attention_weights @ V",
        printed=None,
        exact=product(PRINTED_WEIGHTS, VALUE),
        verdict=Verdict.NOT_GIVEN,
        note="The document stops before this product.",
    ),
    WorkedExample(
        id="seed_002.output",
        document="002",
        line=175,
        title="Outputs of four words",
        fragment="# softmax(Q * K^T) * V",
        printed=None,
        exact=_OUTPUT,
        verdict=Verdict.NOT_GIVEN,
        note="With the identity for keys and a scale of 1 the queries are the scores.",
        execution=attention_execution(
            "scaled_dot_product_attention",
            SCORES,
            identity(4),
            _OUTPUT,
            value=VALUE,
            scale=sympy.Integer(1),
        ),
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_CLAIMS, *_WALKTHROUGH)
