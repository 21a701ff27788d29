"""Seed document 002: functions that are not linear, sums of token and position, and variances at the start."""

from __future__ import annotations

from collections.abc import Callable

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Vector, sinusoids, vector
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.verdict import Verdict

_FIRST, _SECOND = sinusoids((0, 1), 2)
_TOKEN = vector("0 0")
_WIDTH = sympy.Integer(512)
_DEVIATION_OF_GPT_2 = sympy.Rational(1, 50)


def _departure(function: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Expr:
    """Return f(1 + 1) − f(1) − f(1), which is 0 where f is linear."""
    return function(sympy.Integer(2)) - 2 * function(sympy.Integer(1))


def _sum(left: Vector, right: Vector) -> Vector:
    return tuple(a + b for a, b in zip(left, right, strict=True))


_OTHER_TOKEN = tuple(a - b for a, b in zip(_sum(_TOKEN, _FIRST), _SECOND, strict=True))

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_002.powers_are_not_linear",
        document="002",
        line=238,
        title="f(2) − 2 f(1) of x² and of eˣ",
        fragment="are those non linear? yes",
        printed=None,
        exact=(_departure(lambda x: x**2), _departure(sympy.exp)),
        verdict=Verdict.NOT_GIVEN,
    ),
    WorkedExample(
        id="seed_002.equal_sums",
        document="002",
        line=414,
        title="A token whose sum at position 1 is that of (0, 0) at position 0, and both sums",
        fragment="How can even the attention layer be able to separate what this mean at a position level.",
        printed=None,
        exact=(_OTHER_TOKEN, _sum(_OTHER_TOKEN, _SECOND), _sum(_TOKEN, _FIRST)),
        verdict=Verdict.NOT_GIVEN,
        note="What is added to two equal vectors cannot be told from them.",
    ),
    WorkedExample(
        id="seed_002.variance_at_the_start",
        document="002",
        line=417,
        title="The deviation of weights that keeps the variance at width 512; GPT-2's, and what it leaves of it",
        fragment="How are the transformer weights initialized?",
        printed=None,
        exact=(1 / sympy.sqrt(_WIDTH), _DEVIATION_OF_GPT_2, _WIDTH * _DEVIATION_OF_GPT_2**2),
        verdict=Verdict.NOT_GIVEN,
    ),
)
