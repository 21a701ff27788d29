"""Seed document 004: variances, distances and residual paths, each at one small size."""

from __future__ import annotations

from itertools import product as every

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    Matrix,
    Vector,
    dot,
    layer_norm,
    sinusoids,
    softmax,
    vector,
)
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim
from veriformer.spec.worked_examples.verdict import Verdict

_VALUES = vector("-1 0 1")
_VARIANCE = sympy.Rational(2, 3)
_LAYERS = 10
_TOKEN = vector("1000 2000 3000")
_PAIR_WEIGHTS = softmax(vector("1 0"))


def _variance(samples: Vector) -> sympy.Expr:
    mean = sympy.Add(*samples) / len(samples)
    return sympy.Add(*((sample - mean) ** 2 for sample in samples)) / len(samples)


def _dot_product_variance(width: int) -> sympy.Expr:
    """Return Var(q · k) over all pairs of vectors with entries −1, 0, 1, each as likely."""
    vectors = list(every(_VALUES, repeat=width))
    return _variance(tuple(dot(query, key) for query in vectors for key in vectors))


def _squared_norm_variance(width: int) -> sympy.Expr:
    return _variance(tuple(dot(query, query) for query in every(_VALUES, repeat=width)))


def _distance_error(table: Matrix) -> sympy.Expr:
    """Return p₅ · p₈ − p₀ · p₃, which vanishes where the product depends on the distance alone."""
    first, third, fifth, eighth = table
    return sympy.simplify(dot(fifth, eighth) - dot(first, third))


def _residual_slope(inner_slope: int) -> sympy.Expr:
    """Return the slope of ten layers x + f(x) where f has the given slope."""
    return sympy.Integer(1 + inner_slope) ** _LAYERS


def _unbiased_layer_norm(x: Vector) -> Vector:
    correction = sympy.sqrt(sympy.Rational(len(x) - 1, len(x)))
    return tuple(entry * correction for entry in layer_norm(x, sympy.Integer(0)))


def _mean_square(x: Vector) -> sympy.Expr:
    return sympy.simplify(dot(x, x) / len(x))


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_004.embedding_scale",
        document="004",
        line=81,
        title="Mean square of √d e beside that of the positions",
        fragment="which keeps the variance of the embeddings and positional encodings comparable",
        printed=None,
        exact=tuple(
            512 * embedding / _mean_square(sinusoids((3,), 4)[0])
            for embedding in (sympy.Rational(1, 512), sympy.Integer(1))
        ),
        verdict=Verdict.NOT_GIVEN,
        note="A sinusoid's mean square is 1/2. The ratio is 2 for embeddings of variance 1/512, 1024 for 1.",
    ),
    WorkedExample(
        id="seed_004.dot_product_variance",
        document="004",
        line=116,
        title="Variance of a dot product of width 2, over all entries −1, 0, 1",
        fragment=(
            "\\operatorname{Var}(Q_i \\cdot K_j) \\approx d_k \\sigma^4\n    $$\n"
            "    Thus, the typical magnitude of the dot product grows with $\\mathcal{O}(\\sqrt{d_k})$"
        ),
        printed=claim("d_k \\sigma^4", 2 * _VARIANCE**2),
        exact=_dot_product_variance(2),
        verdict=Verdict.CONDITIONAL,
        note="Then it is an equality, not an approximation.",
        condition="queries are independent of keys",
        otherwise=_squared_norm_variance(2),
    ),
    WorkedExample(
        id="seed_004.softmax_amplifies",
        document="004",
        line=242,
        title="What softmax does to two logits that differ by 1",
        fragment="these differences are amplified by passing through softmax",
        printed=claim("amplified", sympy.true),
        exact=_PAIR_WEIGHTS[0] / _PAIR_WEIGHTS[1] > sympy.Integer(1),
        verdict=Verdict.CONDITIONAL,
        note="The weights' ratio is e, but their difference is tanh(1/2) = 0.462.",
        condition="the weights are compared by their ratio",
        otherwise=_PAIR_WEIGHTS[0] - _PAIR_WEIGHTS[1] > sympy.Integer(1),
    ),
    WorkedExample(
        id="seed_004.softmax_difference",
        document="004",
        line=242,
        title="How far apart the weights of two logits are that differ by 1",
        fragment="these differences are amplified by passing through softmax",
        printed=None,
        exact=sympy.simplify(_PAIR_WEIGHTS[0] - _PAIR_WEIGHTS[1]),
        verdict=Verdict.NOT_GIVEN,
        note="tanh(1/2): less than 1. A softmax never moves a weight by more than half of what a logit moves.",
    ),
    WorkedExample(
        id="seed_004.distance_alone",
        document="004",
        line=260,
        title="Whether the sinusoids' inner product depends on the distance alone",
        fragment="$\\langle p_i, p_j \\rangle$ is a function of $\\lvert i - j\\rvert$",
        printed=claim("is a function of $\\lvert i - j\\rvert$", 0),
        exact=_distance_error(sinusoids((0, 3, 5, 8), 4)),
        verdict=Verdict.CONDITIONAL,
        note="The value is p₅ · p₈ − p₀ · p₃. An odd width leaves a sine without its cosine.",
        condition="the width is even",
        otherwise=_distance_error(sinusoids((0, 3, 5, 8), 3)),
    ),
    WorkedExample(
        id="seed_004.residual_path",
        document="004",
        line=309,
        title="The slope through ten residual layers",
        fragment=(
            "The presence of the identity term introduces a direct gradient path that does not explode or "
            "vanish with depth"
        ),
        printed=claim("does not explode or vanish with depth", 1),
        exact=_residual_slope(0),
        verdict=Verdict.CONDITIONAL,
        note="With f(x) = x the slope is 2¹⁰ = 1024, with f(x) = −x it is 0.",
        condition="only the identity's term is counted, without normalisation after the sum",
        otherwise=_residual_slope(1),
    ),
    WorkedExample(
        id="seed_004.standard_deviation",
        document="004",
        line=323,
        title="Layer normalisation of (1000, 2000, 3000) by either standard deviation",
        fragment="$\\sigma(h)$ is the standard deviation of the components of $h$",
        printed=None,
        exact=(layer_norm(_TOKEN, sympy.Integer(0)), _unbiased_layer_norm(_TOKEN)),
        verdict=Verdict.NOT_GIVEN,
        note="Dividing by d gives ±√(3/2), by d − 1 gives ±1: the factor is √((d − 1)/d).",
    ),
)
