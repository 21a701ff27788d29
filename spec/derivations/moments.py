"""The moment algebra: E as a linear operator on polynomials in independent, identically distributed components.

Four rules define it: E is linear; E[f g] = E[f] E[g] where f and g use different families, or different components
of one family; E[X_i^p] is the p-th moment of the family; and of several indices, either two agree or they do not, so
that E[X_i X_j] = δ(i,j) E[X²] + (1 − δ(i,j)) E[X]². Nothing is assumed about the distribution but its moments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sympy
from sympy import Expr, Indexed, KroneckerDelta, Sum
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.expressions import DerivationError, Expectation, Variance
from veriformer.spec.derivations.index_sums import canonical
from veriformer.spec.derivations.index_terms import Term, distribute

Powers = dict[tuple[RandomFamily, Expr], int]


def evaluate_expectations(expression: Expr, context: Context) -> Expr:
    """Replace every E[·] and Var(·) by its value in terms of the families' moments."""
    if not expression.has(Expectation, Variance):
        return expression
    arguments = [evaluate_expectations(argument, context) for argument in expression.args]
    if isinstance(expression, Expectation):
        return expectation(arguments[0], context)
    if isinstance(expression, Variance):
        return expectation(arguments[0] ** 2, context) - expectation(arguments[0], context) ** 2
    return expression.func(*arguments)


def expectation(expression: Expr, context: Context) -> Expr:
    """E[expression] for a polynomial in the random components; DerivationError for anything else."""
    expanded = sympy.expand(expression)
    terms = distribute(expanded, lambda part: canonical(part, context))
    return sympy.Add(*[_expectation_of_term(term, context) for term in terms])


def moment(family: RandomFamily, power: int) -> Expr:
    """The raw moment E[X^power] from the mean and the central moments."""
    return sympy.expand(
        sympy.Add(
            *[
                sympy.binomial(power, order) * _central_moment(family, order) * family.mean ** (power - order)
                for order in range(power + 1)
                if order != 1 and (family.mean != 0 or order == power)
            ]
        )
    )


def _central_moment(family: RandomFamily, order: int) -> Expr:
    standardised = {0: sympy.Integer(1), 2: sympy.Integer(1), 3: family.skewness, 4: family.kurtosis}.get(order)
    if standardised is None:
        raise DerivationError(f"moment {order} of {family.base} is needed but not declared")
    return standardised * family.deviation**order


def _expectation_of_term(term: Term, context: Context) -> Expr:
    powers, constants = _separate(term, context)
    expected = sympy.Add(*[_expectation_of_pattern(powers, blocks) for blocks in _patterns(powers)])
    product = term.coefficient * sympy.Mul(*constants) * expected
    limits = [(index, *bounds) for index, bounds in term.bound.items()]
    return Sum(product, *limits) if limits else product


def _separate(term: Term, context: Context) -> tuple[Powers, list[Expr]]:
    """The powers of random components in a term, and its other factors."""
    families = {family.base: family for family in context.families}
    powers: Powers = {}
    constants = []
    for factor in term.factors:
        base, exponent = factor.as_base_exp()
        if isinstance(base, Indexed) and base.base in families and exponent.is_Integer and exponent > 0:
            component = (families[base.base], base.indices[0])
            powers[component] = powers.get(component, 0) + int(exponent)
        elif any(factor.has(random) for random in families):
            raise DerivationError(f"the moment algebra takes polynomials in the random components, not {factor}")
        else:
            constants.append(factor)
    return powers, constants


def _patterns(powers: Powers) -> Iterator[list[list[Expr]]]:
    """All ways in which the indices can coincide: the set partitions of the distinct index expressions."""
    return _partitions(list(dict.fromkeys(index for _, index in powers)))


def _partitions(items: list[Expr]) -> Iterator[list[list[Expr]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in _partitions(rest):
        yield [[first], *partition]
        for place, block in enumerate(partition):
            yield [*partition[:place], [first, *block], *partition[place + 1 :]]


def _expectation_of_pattern(powers: Powers, blocks: list[list[Expr]]) -> Expr:
    """[the indices coincide in exactly this pattern] × the product of the moments."""
    same = [KroneckerDelta(block[0], other) for block in blocks for other in block[1:]]
    different = [1 - KroneckerDelta(one[0], two[0]) for one, two in itertools.combinations(blocks, 2)]
    families = dict.fromkeys(family for family, _ in powers)
    moments = [
        moment(family, sum(powers.get((family, index), 0) for index in block))
        for block in blocks
        for family in families
    ]
    return sympy.Mul(*same, *different, *moments)
