"""Seed document 004: what tells heads apart in training, and what fast and slow sinusoids tell of positions."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import matrix, product
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.verdict import Verdict

_FASTEST = sympy.Integer(1)
_SLOWEST = sympy.Integer(10000) ** sympy.Rational(-255, 256)
_GRADIENT = matrix("1")


def _distance(frequency: sympy.Expr, steps: int) -> sympy.Expr:
    """Return how far a pair of sine and cosine moves in some steps: 2 |sin(ω Δ / 2)|."""
    return 2 * sympy.Abs(sympy.sin(frequency * steps / 2))


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_004.gradients_of_equal_heads",
        document="004",
        line=242,
        title="The gradients of two heads whose blocks of the output projection are 1 and 1, and 1 and 2",
        fragment="our projection matrix $W^O$ routes distinct gradient signals to each head",
        printed=None,
        exact=tuple(product(_GRADIENT, matrix(blocks))[0] for blocks in ("1 1", "1 2")),
        verdict=Verdict.NOT_GIVEN,
        note="Of a loss with the slope 1 by the output: G W_Oᵀ.",
    ),
    WorkedExample(
        id="seed_004.fast_and_slow_pairs",
        document="004",
        line=258,
        title="How far a step moves the first and the last pair at width 512, and 44 steps the first",
        fragment="the former components can detect small positional differences precisely",
        printed=None,
        exact=(_distance(_FASTEST, 1), _distance(_SLOWEST, 1), _distance(_FASTEST, 44)),
        verdict=Verdict.NOT_GIVEN,
        note="44 is seven turns of 2π and 0.018 more.",
    ),
)
