"""Seed document 004: the chain rules of probabilities and of derivatives, its mask, and projected positions."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    Matrix,
    additive_causal_mask,
    dot,
    matrix,
    product,
    sinusoids,
)
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, number
from veriformer.spec.worked_examples.verdict import Verdict

_INDICES = range(1, 5)
_JOINT = matrix("1/8 3/8", "1/3 1/6")
_X, _U, _V = sympy.symbols("x u v", real=True)
_PAIR = sympy.Matrix([_U, _V])
_SUBLAYER = sympy.Matrix([sympy.tanh(_U) * _V, sympy.exp(_U * _V)])
_POSITIONS = sinusoids((0, 3, 5, 8), 2)


def _conditionals(joint: Matrix) -> Matrix:
    """Return p(y_1) p(y_2 | y_1) of every pair, each factor from sums over the joint distribution."""
    first = tuple(sympy.Add(*row) for row in joint)
    return tuple(tuple(first[i] * (entry / first[i]) for entry in row) for i, row in enumerate(joint))


def _of_one_layer(x: sympy.Expr) -> sympy.Expr:
    return x**2


def _of_the_next(x: sympy.Expr) -> sympy.Expr:
    return x**3


def _product_of_slopes(second_input: sympy.Expr) -> sympy.Expr:
    """Return the product of both layers' slopes, the second one's at `second_input`."""
    return sympy.diff(_of_one_layer(_X), _X) * sympy.diff(_of_the_next(_X), _X).subs(_X, second_input)


def _distance_error(projection: Matrix) -> sympy.Expr:
    """Return (p₅ W) · (p₈ W) − (p₀ W) · (p₃ W), which vanishes where the distance alone counts."""
    first, third, fifth, eighth = product(_POSITIONS, projection)
    return sympy.simplify(dot(fifth, eighth) - dot(first, third))


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_004.chain_rule",
        document="004",
        line=32,
        title="The chain rule for two tokens of two kinds",
        fragment="p(y_{1:m} \\mid x_{1:n}) = \\prod_{t = 1}^m p(y_t \\mid y_{< t}, x_{1:n})",
        printed=tuple(tuple(claim("p(y_{1:m} \\mid x_{1:n})", entry) for entry in row) for row in _JOINT),
        exact=_conditionals(_JOINT),
        verdict=Verdict.CORRECT,
        note="For the joint distribution 1/8, 3/8, 1/3, 1/6.",
    ),
    WorkedExample(
        id="seed_004.causal_mask",
        document="004",
        line=190,
        title="The causal mask of four tokens, by cases",
        fragment="\\begin{cases}\n    0, \\qquad \\,\\, j \\leq i,\\\\\n    -\\infty, \\quad j > i.\n    \\end{cases}",
        printed=tuple(tuple(number("0" if j <= i else "-\\infty") for j in _INDICES) for i in _INDICES),
        exact=additive_causal_mask(4),
        verdict=Verdict.CORRECT,
        note="With j = i allowed: the output at i depends on its own token too.",
    ),
    WorkedExample(
        id="seed_004.projected_distance",
        document="004",
        line=260,
        title="Whether projected positions know their distance alone",
        fragment="dot products between queries and keys contain information about relative distance",
        printed=claim("relative distance", 0),
        exact=_distance_error(matrix("1 0", "0 1")),
        verdict=Verdict.CONDITIONAL,
        note=(
            "The value is (p₅W)·(p₈W) − (p₀W)·(p₃W) at width 2. With W = diag(1, 0) it is sin 5 sin 8. Rotary "
            "positions, turned after the projection, depend on the distance alone."
        ),
        condition="W_Q W_Kᵀ commutes with the rotations of the positions, as the identity does",
        otherwise=_distance_error(matrix("1 0", "0 0")),
    ),
    WorkedExample(
        id="seed_004.stacked_derivative",
        document="004",
        line=300,
        title="The slope of x³ after x²",
        fragment="\\partial_X F = \\prod_{i = 1}^{L} \\partial_X f_i",
        printed=claim("\\partial_X F", sympy.diff(_of_the_next(_of_one_layer(_X)), _X)),
        exact=_product_of_slopes(_of_one_layer(_X)),
        verdict=Verdict.CONDITIONAL,
        note="6x⁵; both slopes at the same x give 6x³. For matrices the order of the factors counts as well.",
        condition="each factor is taken at its own layer's input",
        otherwise=_product_of_slopes(_X),
    ),
    WorkedExample(
        id="seed_004.residual_derivative",
        document="004",
        line=306,
        title="The derivative of u, v plus a curved function of both",
        fragment="\\partial_X(X + f(X)) = I + \\partial_X f(X).",
        printed=tuple(
            tuple(claim("I + \\partial_X f(X)", entry) for entry in row)
            for row in (sympy.eye(2) + _SUBLAYER.jacobian(_PAIR)).tolist()
        ),
        exact=tuple(tuple(row) for row in (_PAIR + _SUBLAYER).jacobian(_PAIR).tolist()),
        verdict=Verdict.CORRECT,
        note="f(u, v) = (tanh(u) v, e^{uv}).",
    ),
)
