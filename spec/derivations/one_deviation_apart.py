"""What √d_k does in numbers: two logits one standard deviation apart, without and with the division."""

from __future__ import annotations

from sympy import Expr, Integer, exp, sqrt
from veriformer.spec.derivations.derivation import Difference
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.formulas import size

width = size("d_k")


def larger_weight(standard_deviation: Expr) -> Expr:
    """The larger weight of two logits that are one standard deviation apart."""
    return 1 / (1 + exp(-standard_deviation))


def row_sum(standard_deviation: Expr) -> Expr:
    """2P (1 − P) for the larger weight P: the largest sum of magnitudes in a row of the Jacobian."""
    return 2 * larger_weight(standard_deviation) * (1 - larger_weight(standard_deviation))


WITHOUT_AND_WITH = (
    Difference(
        "Without the division softmax decides for one key: the larger of two weights",
        larger_weight(sqrt(width)),
        larger_weight(Integer(1)),
        "Take components of variance 1 and d_k = 64: a logit has the standard deviation √64 = 8 without the division "
        "and 1 with it. Two logits one standard deviation apart then give the larger the weight 0.99966 or 0.7311.",
        example=World(symbols={width: 64}),
        values=("0.99966", "0.7311"),
    ),
    Difference(
        "Without the division hardly any gradient passes: the largest row of the Jacobian",
        row_sum(sqrt(width)),
        row_sum(Integer(1)),
        "A row of the Jacobian says how much one weight reacts to all logits; of two weights P and 1 − P its "
        "magnitudes sum to 2P (1 − P). That is 0.000670 without the division and 0.3932 with it: 586 times as much.",
        example=World(symbols={width: 64}),
        values=("0.000670", "0.3932"),
    ),
)
