"""Seed document 002: what its functions do: softmax at any temperature, GELU, powers, normalisation."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Vector, layer_norm, softmax, vector
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, numbers
from veriformer.spec.worked_examples.seed_002_attention import SCORES
from veriformer.spec.worked_examples.verdict import Verdict

_THE, _CAR, _IS, _RED = range(4)
_INVERSE_TEMPERATURE = sympy.Rational(7, 4)
_TOKEN = vector("1000 2000 3000")
_EPS = sympy.Rational(1, 100_000)
_X = sympy.Symbol("x", real=True)
_CAR_SCORES = SCORES[_CAR]


def _weight(row: int, word: int) -> sympy.Expr:
    """Return the weight of a word in a row of scores at the inverse temperature 7/4."""
    return softmax(tuple(_INVERSE_TEMPERATURE * score for score in SCORES[row]))[word]


def _gelu(x: sympy.Expr) -> sympy.Expr:
    return x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2


def _add(left: Vector, right: Vector) -> Vector:
    return tuple(a + b for a, b in zip(left, right, strict=True))


_UNCHANGED = _add(_TOKEN, vector("0 0 0"))

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_002.car_attends_to_itself",
        document="002",
        line=129,
        title='Whether "car" has its lowest score with itself',
        fragment="similarity(Q_car, K_car) = LOW",
        printed=claim("LOW", sympy.true),
        exact=sympy.sympify(_CAR_SCORES[_CAR] == min(_CAR_SCORES)),
        verdict=Verdict.WRONG,
        note="In the document's own matrix it is 0.9, the largest of the row.",
    ),
    WorkedExample(
        id="seed_002.weights_at_another_temperature",
        document="002",
        line=164,
        title='Weights of "red" for "is" and of "car" for "red" at the inverse temperature 7/4',
        fragment=(
            '[0.1, 0.4, 0.2, 0.3], # "is" attention distribution\n[0.2, 0.6, 0.1, 0.1] # "red" attention distribution'
        ),
        printed=numbers("0.3 0.6"),
        exact=(_weight(_IS, _RED), _weight(_RED, _CAR)),
        verdict=Verdict.WRONG,
        note=(
            "A weight grows with the inverse temperature where its score is above the row's mean, and falls below it. "
            "So from 7/4 on the first stays under 0.25, and up to there the second stays under 0.55: no temperature "
            "gives both."
        ),
    ),
    WorkedExample(
        id="seed_002.layer_that_learns_nothing",
        document="002",
        line=187,
        title="A residual layer whose function is 0, for the token (1000, 2000, 3000)",
        fragment="if a layer learns nothing, output as close to original",
        printed=tuple(claim("as close to original", entry) for entry in _TOKEN),
        exact=_UNCHANGED,
        verdict=Verdict.CONDITIONAL,
        note="Normalised after the sum, the token comes out as ±√(3/2) and 0.",
        condition="the sum is not normalised, as in a pre-normalised layer",
        otherwise=layer_norm(_UNCHANGED, _EPS),
    ),
    WorkedExample(
        id="seed_002.exponential_slope",
        document="002",
        line=243,
        title="The slope of eˣ far from 0",
        fragment="e^x\n, explodes, always positive, huge gradients",
        printed=claim("huge gradients", sympy.oo),
        exact=sympy.limit(sympy.diff(sympy.exp(_X), _X), _X, sympy.oo),
        verdict=Verdict.CONDITIONAL,
        note="To the left it vanishes.",
        condition="x grows to +∞",
        otherwise=sympy.limit(sympy.diff(sympy.exp(_X), _X), _X, -sympy.oo),
    ),
    WorkedExample(
        id="seed_002.feed_forward_is_linear",
        document="002",
        line=384,
        title="A feed-forward network of one GELU unit: f(1) + f(−1)",
        fragment="FFN pos wise: just a linear classifier",
        printed=claim("linear", 0),
        exact=_gelu(sympy.Integer(1)) + _gelu(sympy.Integer(-1)),
        verdict=Verdict.WRONG,
        note="A linear function has f(−1) = −f(1). The document's own ffn (line 218) has a GELU between two matrices.",
    ),
)
