"""Dropout: what it leaves unchanged on average, what it adds to the variance, and how many entries it drops."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, KroneckerDelta, sqrt
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Expectation, Partial, Variance, total
from veriformer.spec.derivations.formulas import array, index, positive, real, size, up_to
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA

i, j = index("i"), index("j")
n = size("n")
ENTRIES = up_to(n)
x, gradient, mask, other = array("x"), array("g"), array("m"), array("u")
p, odds, factor = positive("p"), positive("a"), real("c")
spread = sqrt(p * (1 - p))
KEPT = Context(
    ranges={i: ENTRIES, j: ENTRIES},
    families=(RandomFamily(mask, 1 - p, spread), RandomFamily(other, 1 - p, spread)),
    # 0 < p < 1, where the odds are positive.
    parametrisation={p: odds / (1 + odds)},
)


def dropped(entry: Expr, kept: Expr) -> Expr:
    """X m / (1 − p)."""
    return entry * kept / (1 - p)


AVERAGES = (
    Step(
        "On average an entry stays as it is",
        Expectation(dropped(x[i], mask[i])),
        x[i],
        "m_i is 1 with probability 1 − p and 0 otherwise: its mean is 1 − p, which the factor divides by.",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Difference(
        "Without the factor the average is smaller",
        Expectation(x[i] * mask[i]),
        x[i],
        "With p = 1/4 the average of an entry of 1 is 3/4, so that training and evaluation differ by that factor.",
        example=World(symbols={p: Fraction(1, 4), i: 1}, arrays={(x, (1,)): 1}, laws={mask: ((0, 0.25), (1, 0.75))}),
        values=("0.75", "1"),
        optional=True,
    ),
    Step(
        "The variance of an entry",
        Variance(dropped(x[i], mask[i])),
        x[i] ** 2 * p / (1 - p),
        "The variance of m_i is p (1 − p), and its factor is x_i/(1 − p).",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "Different entries are uncorrelated",
        Expectation(dropped(x[i], mask[i]) * dropped(x[j], mask[j])) - x[i] * x[j],
        KroneckerDelta(i, j) * x[i] ** 2 * p / (1 - p),
        "For i = j this is the variance. For i ≠ j the two are independent, and the mean of the product is x_i x_j.",
        MOMENT_ALGEBRA,
        KEPT,
    ),
)

COUNTS = (
    Step(
        "How many entries are dropped on average",
        Expectation(total(lambda k: 1 - mask[k], "k", ENTRIES)),
        n * p,
        "1 − m_i is 1 where the entry is dropped, which has the probability p.",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "The variance of the number of dropped entries",
        Variance(total(lambda k: 1 - mask[k], "k", ENTRIES)),
        n * p * (1 - p),
        "The variances of independent numbers add up. So the share of zeros is p up to a few times √(p (1 − p)/n).",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "How often two masks agree",
        Expectation(mask[i] * other[i] + (1 - mask[i]) * (1 - other[i])),
        1 - 2 * p * (1 - p),
        "Two independent entries of masks are both 1 with probability (1 − p)², and both 0 with probability p².",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "How often two entries of one mask agree",
        Expectation(mask[i] * mask[j] + (1 - mask[i]) * (1 - mask[j])),
        1 - 2 * p * (1 - p) * (1 - KroneckerDelta(i, j)),
        "An entry agrees with itself; two different ones are as independent as those of two masks.",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "Dropout twice keeps fewer",
        Expectation(mask[i] * other[i]),
        (1 - p) ** 2,
        "An entry is left if both masks keep it.",
        MOMENT_ALGEBRA,
        KEPT,
        optional=True,
    ),
)

GRADIENTS = (
    Step(
        "The derivative passes through the same mask",
        Partial(dropped(x[i], mask[i]), x[j]),
        KroneckerDelta(i, j) * mask[i] / (1 - p),
        "The mask does not depend on x: it is a constant factor.",
    ),
    Step(
        "On average a gradient stays as it is",
        Expectation(dropped(gradient[i], mask[i])),
        gradient[i],
        "It is multiplied by the same factor as the entry.",
        MOMENT_ALGEBRA,
        KEPT,
    ),
    Step(
        "The result is linear in a factor of the entries",
        Partial(dropped(factor * x[i], mask[i]), factor),
        dropped(x[i], mask[i]),
        "The result of c x is linear in c, with the result of x as its slope: the mask does not depend on x.",
    ),
)

DERIVATION = Derivation(
    id="dropout",
    title="Dropout with the factor 1/(1 − p) changes no average, and its gradient passes through the same mask",
    opening=(
        "What does dropout do to a layer on average, and how many zeros does it leave? A mask with the wrong share of "
        "zeros, or one that rows share, still trains, only to something else."
    ),
    symbols=(
        Meaning((x,), "the entries"),
        Meaning((mask, other), "two masks: each entry is 1 where an entry of x is kept, and 0 where it is dropped"),
        Meaning((p,), "the rate: the probability that an entry is dropped, 0 < p < 1"),
        Meaning((odds,), "p/(1 − p), which may be any positive number"),
        Meaning((gradient,), "the gradients of the results"),
        Meaning((factor,), "a factor of all entries"),
        Meaning((n,), "how many entries there are"),
        Meaning((i, j, index("k")), "numbers of entries, from 1 to n"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The entries of a mask are independent of each other and of x, and 0 with probability p.",
        "The steps with a mean or a variance use only that an entry of a mask has mean 1 − p and variance p (1 − p).",
    ),
    sources=(
        Source(
            "Srivastava et al. 2014, Dropout: A Simple Way to Prevent Neural Networks from Overfitting, sections 4, 10",
            comment="the mask, and the division by the probability of retention in training",
        ),
        Source("Vaswani et al. 2017, Attention Is All You Need, section 5.4", comment="where a Transformer has it"),
    ),
    steps=AVERAGES + COUNTS + GRADIENTS,
    remarks=(
        "Whatever follows dropout is not linear, so that its average is not that of the network without dropout.",
    ),
)
