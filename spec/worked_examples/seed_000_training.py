"""Seed document 000: what scaling and the causal mask have to do with training."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Vector, attention, matrix, softmax, vector
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.verdict import Verdict

# A query that looks for the token after its own, and values that are the probability given to what came.
_QUERY = ((sympy.log(9),), (sympy.Integer(0),))
_KEY = matrix("0", "1")
_VALUE = matrix("1/2", "1")
_HIDDEN = ((sympy.Integer(0), -sympy.oo), (sympy.Integer(0), sympy.Integer(0)))


def _slope(logits: Vector) -> sympy.Expr:
    """Return by how much the first of two weights moves with its own logit: p_1 p_2."""
    first, second = softmax(logits)
    return first * second


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_000.saturation",
        document="000",
        line=142,
        title="The slope of softmax at the logits (8, −8), at these over √64, and at (64, 64)",
        fragment="Large magnitudes push softmax into saturation, giving tiny gradients.",
        printed=None,
        exact=tuple(_slope(logits) for logits in (vector("8 -8"), vector("1 -1"), vector("64 64"))),
        verdict=Verdict.NOT_GIVEN,
        note="8 is the standard deviation of q·k at d_k = 64. Equal logits leave the steepest slope, however large.",
    ),
    WorkedExample(
        id="seed_000.mask_after_training_without",
        document="000",
        line=660,
        title="The first token's perplexity without the mask that it was trained without, and with it",
        fragment="causing a sharp performance drop: perplexity increases",
        printed=None,
        exact=(1 / attention(_QUERY, _KEY, _VALUE)[0][0], 1 / attention(_QUERY, _KEY, _VALUE, _HIDDEN)[0][0]),
        verdict=Verdict.NOT_GIVEN,
        note="The head gives the later token nine tenths of its weight; the mask takes them away.",
    ),
)
