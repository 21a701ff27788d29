"""How rounding errors accumulate in products and sums: γ(n) = nu / (1 − nu), √n if independent, 3n/8 if equal."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, Rational, Symbol
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import (
    Derivation,
    Difference,
    Inequality,
    Limit,
    Meaning,
    Scope,
    Source,
    Step,
)
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Expectation, total
from veriformer.spec.derivations.formulas import array, positive, real, size, up_to
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA

n = size("n")
TERMS = up_to(n)
rest, unit = positive("v"), positive("u")
rounding, other_rounding, other = real("delta"), real("eta"), real("y")
term, relative = array("x"), array("theta")
error = array("delta")
deviation = positive("sigma")
positive_part, negative_part = IndexedBase("p", nonnegative=True), IndexedBase("r", nonnegative=True)
to_upper, to_lower = IndexedBase("s", nonnegative=True), IndexedBase("t", nonnegative=True)
moved, power, ratio = positive("e"), positive("w"), positive("z")
slack = Symbol("h", nonnegative=True)


def small_unit(count: Expr) -> Expr:
    """A unit roundoff with (count + 1) u < 1: 1/u = count + 1 + t for a v > 0."""
    return 1 / (count + 1 + rest)


def gamma(count: Expr, unit_roundoff: Expr) -> Expr:
    """γ(n) = n u / (1 − n u)."""
    return count * unit_roundoff / (1 - count * unit_roundoff)


u = small_unit(n)

PRODUCTS = (
    Inequality(
        "One more factor 1 + δ: from above",
        1 + gamma(n + 1, u),
        (1 + gamma(n, u)) * (1 + u),
        "1 + γ(n) = 1/(1 − nu), so the claim is (1 + u)(1 − (n + 1)u) ≤ 1 − nu. By induction a product of n factors "
        "1 + δ_k with |δ_k| ≤ u is at most 1 + γ(n).",
        certificate=(n + 1) / (rest * (rest + 1)),
    ),
    Inequality(
        "One more factor 1 + δ: from below",
        (1 - n * unit) * (1 - unit),
        1 - (n + 1) * unit,
        "Bernoulli's inequality: by induction the product is at least 1 − nu.",
        certificate=n * unit**2,
    ),
    Inequality(
        "What is at least 1 − nu is at least 1 − γ(n)",
        gamma(n, u),
        n * u,
        "γ(n) = nu/(1 − nu) and 1 − nu < 1. Together: |(1 + δ_1)⋯(1 + δ_n) − 1| ≤ γ(n).",
        certificate=n**2 / ((rest + 1) * (n + rest + 1)),
    ),
    Limit(
        "To first order γ(n) is nu",
        gamma(n, unit) / (n * unit),
        Integer(1),
        "1/(1 − nu) → 1 as u → 0.",
        variable=unit,
        point=Integer(0),
    ),
)

SUMS = (
    Step(
        "One more addition gives every earlier term one factor more",
        (total(lambda j: term[j] * (1 + relative[j]), "j", TERMS) + other * (1 + other_rounding)) * (1 + rounding),
        total(lambda j: term[j] * (1 + relative[j]) * (1 + rounding), "j", TERMS)
        + other * (1 + other_rounding) * (1 + rounding),
        "A computed sum is the exact one times 1 + δ, |δ| ≤ u. A term of a sum of n products is rounded once as a "
        "product and at most n − 1 times in additions, in whatever order these are done: n factors 1 + δ.",
    ),
    Step(
        "The computed sum is wrong by the terms times their relative errors",
        total(lambda j: term[j] * (1 + relative[j]), "j", TERMS) - total(lambda j: term[j], "j", TERMS),
        total(lambda j: term[j] * relative[j], "j", TERMS),
        "The sum is linear.",
    ),
    Inequality(
        "The error is at most the bound of the factors times the magnitudes",
        total(lambda j: (to_upper[j] + to_lower[j]) / 2 * (positive_part[j] + negative_part[j]), "j", TERMS),
        total(lambda j: (to_lower[j] - to_upper[j]) / 2 * (positive_part[j] - negative_part[j]), "j", TERMS),
        "x_j = p_j − r_j with |x_j| = p_j + r_j, its positive and negative part; θ_j lies between −g_j and g_j, with "
        "s_j = g_j − θ_j ≥ 0 and t_j = g_j + θ_j ≥ 0. So Σ x_j θ_j ≤ Σ g_j |x_j|, and likewise for −θ. With "
        "g_j = γ(n): |computed − exact| ≤ γ(n) Σ |x_j|.",
        certificate=total(lambda j: positive_part[j] * to_upper[j] + negative_part[j] * to_lower[j], "j", TERMS),
    ),
    Inequality(
        "What is stored lies within twice the error of a number that can be stored",
        2 * moved,
        moved + (moved - slack),
        "x can be stored, and x + e with e > 0 is rounded to the nearest number that can, which lies no further from "
        "it than x does: at x + e + k with k = e − h ≤ e, and k ≥ −e. So it lies between x and x + 2e.",
        certificate=slack,
    ),
)

INDEPENDENT = (
    Step(
        "Independent errors of mean zero add up to √n standard deviations",
        Expectation(total(lambda j: error[j], "j", TERMS) ** 2),
        n * deviation**2,
        "The errors are independent with mean 0, so the mean of a product of two different ones is 0. By Hoeffding's "
        "inequality the sum of n errors exceeds λ √n u in magnitude with a probability of at most 2 e^(−λ²/2), for "
        "any λ > 0; at λ = 8 that is less than 3 · 10⁻¹⁴.",
        MOMENT_ALGEBRA,
        Context(families=(RandomFamily(error, Integer(0), deviation),)),
    ),
    Step(
        "Equal errors add up to n",
        total(lambda j: unit, "j", TERMS),
        n * unit,
        "Rows of equal terms round alike, so that √n alone is no bound. Up to n = λ² = 64 the worst case is the "
        "smaller bound and is taken.",
    ),
    Step(
        "Equal terms, one after the other: errors up to a power of two",
        written(lambda: (power - 1) / 3 + power),
        written(lambda: (4 * power - 1) / 3),
        "A sum between 2^j and 2^(j+1) takes 2^j additions of 1, each wrong by half of the last digit there, u 2^j, at "
        "most: u 4^j in all. By induction, with w = 4^J, all of them up to 2^J are wrong by less than u 4^J / 3.",
    ),
    Inequality(
        "Relative to the sum that is never more than 3n/8",
        Rational(3, 8),
        (ratio - Rational(2, 3)) / ratio**2,
        "Write n = z 2^J with 1 ≤ z < 2. The errors are u 4^J / 3, and u 2^J for each of n − 2^J more additions: "
        "together n u (1/3 + z − 1)/z², relative to the sum n. That is largest at z = 4/3. From n = 456 on 3n/8 is "
        "more than 8√n, and is taken.",
        certificate=Rational(3, 8) * (ratio - Rational(4, 3)) ** 2 / ratio**2,
    ),
    Difference(
        "√n is no bound without independence",
        total(lambda j: unit, "j", (1, 100)),
        8 * 10 * unit,
        "A hundred equal errors add up to 100u, more than 8 · √100 u: 200 and 160 for u = 2.",
        example=World(symbols={unit: 2}),
        values=("200", "160"),
    ),
)

DERIVATION = Derivation(
    id="rounding_of_sums",
    title="Rounding errors of sums: γ(n) in the worst case, √n for independent errors",
    opening=(
        "How wrong may a correctly computed sum be, when every operation rounds its result? A test needs this "
        "bound: with a smaller one it accuses correct code, and with a larger one it misses mistakes."
    ),
    see_also=(
        "attention_rounding",
        "normalisation_rounding",
    ),
    symbols=(
        Meaning((n,), "how many terms a sum has, or factors a product"),
        Meaning((unit,), "the unit roundoff: the largest relative error of one operation"),
        Meaning((rest,), "1/u − n − 1, which is positive"),
        Meaning((real("gamma"),), "the bound γ(n) = n u/(1 − n u)"),
        Meaning(
            (rounding, other_rounding),
            "the relative errors of two operations, at most u in magnitude; with an index, the error of one term",
        ),
        Meaning((term, other), "the terms of the sum, and one more term"),
        Meaning((relative,), "θ_j: the relative error that term j has gathered"),
        Meaning((deviation,), "the standard deviation of an error"),
        Meaning((positive_part, negative_part), "the positive and the negative part of each term: x_j = p_j − r_j"),
        Meaning((to_upper, to_lower), "g_j − θ_j and g_j + θ_j, for a bound g_j of θ_j"),
        Meaning(
            (moved, slack), "a distance from a number that can be stored, and by how much the rounding error is smaller"
        ),
        Meaning((power, ratio), "4^J, and n/2^J, where 2^J is the largest power of two up to n"),
    ),
    scope=Scope.INDUCTION,
    assumptions=(
        "Every operation returns the exact result times 1 + δ with |δ| ≤ u, and rounds to the nearest number.",
        "(n + 1) u < 1, and nothing overflows; underflow is counted apart.",
        "For √n: errors are independent, of mean zero, and at most u.",
    ),
    sources=(
        Source("Higham 2002, Accuracy and Stability of Numerical Algorithms, lemma 3.1", comment="γ(n)"),
        Source("Higham & Mary 2019, A New Approach to Probabilistic Rounding Error Analysis", comment="theorem 2.4"),
    ),
    steps=PRODUCTS + SUMS + INDEPENDENT,
    remarks=(
        "`conformance_tests/rounding/precision.py` takes γ(m), m = min(n, max(8√n, 3n/8)). `benchmarks/calibrate.py` "
        "measures how near correct sums come to it.",
    ),
    reason_without_law="It bounds what any correct implementation may return: every law is judged by it.",
)
