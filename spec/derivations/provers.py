"""The proof methods for equalities. Each is sound and says what it rests on; none is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import sympy
from sympy import Expr
from veriformer.spec.derivations.expressions import DerivationError, Quotient, Remainder
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.moments import evaluate_expectations
from veriformer.spec.derivations.nonnegativity import manifestly_nonnegative
from veriformer.spec.derivations.scalar_field import is_zero_in_field


class Prover(Protocol):
    """A proof method: what it is called, what it rests on, and whether it proves left = right."""

    @property
    def name(self) -> str:
        """A short name."""

    @property
    def rests_on(self) -> str:
        """The identities that it uses, in words."""

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether left = right is proved in the normaliser's context; False where the method does not succeed."""


@dataclass(frozen=True)
class IndexSums:
    """Equality of normal forms of finite sums over ranges of symbolic length."""

    name: str = "index sums"
    rests_on: str = "linearity, exchange of finite sums, contraction of Kronecker deltas, arithmetic of fractions"

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether the normal form of left − right is zero."""
        return normaliser.proves_equal(left, right)


@dataclass(frozen=True)
class Trigonometry:
    """Sines and cosines as Laurent polynomials in e^(iθ), then equality of normal forms."""

    name: str = "trigonometry"
    rests_on: str = (
        "Euler's formula cos θ = (e^(√(−1) θ) + e^(−√(−1) θ))/2, e^(a+b) = e^a e^b, and the rules for finite sums"
    )

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether the difference vanishes once sines and cosines are written as exponentials."""
        return normaliser.proves_equal(_exponentials(left), _exponentials(right))


@dataclass(frozen=True)
class MomentAlgebra:
    """Expectations by linearity, independence and moments, then equality of normal forms."""

    name: str = "moment algebra"
    rests_on: str = "linearity of E, independence of the families and of their components, and the declared moments"

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether both sides have the same value in terms of the declared moments."""
        context = normaliser.context
        return normaliser.proves_equal(evaluate_expectations(left, context), evaluate_expectations(right, context))


@dataclass(frozen=True)
class PolynomialSums:
    """Sums of polynomials over ranges that may depend on outer indices, then arithmetic of fractions."""

    name: str = "sums of powers"
    rests_on: str = "Σ 1 = n, Σ i = n(n+1)/2, and Faulhaber's formulas for higher powers"

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether the sums of both sides, carried out from the inside, are the same fraction."""
        difference = _sums_carried_out(sympy.sympify(left)) - _sums_carried_out(sympy.sympify(right))
        return is_zero_in_field(difference)


@dataclass(frozen=True)
class EuclideanDivision:
    """Quotient and remainder by uniqueness of division: n = d q + r with integers q and 0 ≤ r < d."""

    name: str = "Euclidean division"
    rests_on: str = "uniqueness of the integers q and r with n = d q + r and 0 ≤ r < d"

    def proves(self, left: Expr, right: Expr, normaliser: Normaliser) -> bool:
        """Whether right is the quotient or remainder that left asks for; left must be one of the two."""
        if not isinstance(left, Quotient | Remainder):
            raise DerivationError(f"Euclidean division needs a quotient or a remainder on the left, not {left}")
        asked, context = type(left), normaliser.context
        numerator, divisor, answer = (
            sympy.sympify(part).xreplace(dict(context.parametrisation)) for part in (*left.args, right)
        )
        if asked is Quotient:
            quotient, remainder = answer, sympy.expand(numerator - divisor * answer)
        else:
            quotient, remainder = sympy.cancel((numerator - answer) / divisor), answer
        slack = sympy.expand(divisor - 1 - remainder)
        whole = bool(quotient.is_integer and remainder.is_integer)
        return whole and manifestly_nonnegative(remainder, context) and manifestly_nonnegative(slack, context)


def _sums_carried_out(expression: Expr) -> Expr:
    if not expression.has(sympy.Sum):
        return expression
    if not isinstance(expression, sympy.Sum):
        return expression.func(*map(_sums_carried_out, expression.args))
    summand = _sums_carried_out(expression.function)
    for index, low, high in expression.limits:
        try:
            terms = sympy.Poly(sympy.expand(summand), index).terms()
        except sympy.PolynomialError as error:
            raise DerivationError(f"sums of powers need a polynomial in {index}, not {summand}") from error
        summand = sympy.Add(*[factor * _sum_of_powers(power, low, high) for (power,), factor in terms])
    return summand


def _sum_of_powers(power: int, low: Expr, high: Expr) -> Expr:
    """Σ i^p over low ≤ i ≤ high = (B(high + 1) − B(low))/(p + 1), with the Bernoulli polynomial of degree p + 1."""
    return (sympy.bernoulli(power + 1, high + 1) - sympy.bernoulli(power + 1, low)) / (power + 1)


def _exponentials(expression: Expr) -> Expr:
    return sympy.expand(expression.rewrite(sympy.exp))


INDEX_SUMS = IndexSums()
TRIGONOMETRY = Trigonometry()
MOMENT_ALGEBRA = MomentAlgebra()
POLYNOMIAL_SUMS = PolynomialSums()
EUCLIDEAN_DIVISION = EuclideanDivision()
