"""From the variance of the logits to a softmax that is one-hot and has no gradient, which √d_k prevents."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, Symbol, exp, oo, sqrt
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Limit, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Expectation, Variance, total
from veriformer.spec.derivations.formulas import array, entry_of, index, positive, size, up_to, weights
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA
from veriformer.spec.derivations.variance_scaling import d_k as width
from veriformer.spec.derivations.variance_scaling import deviation, dot, key, query

n = size("n")
ROW = up_to(n)
i, j, best = index("i"), index("j"), index("b")
y, p, rivals = array("y"), array("p"), Symbol("r", nonnegative=True)
spread, gap, error = positive("s"), positive("g"), positive("epsilon")
behind = IndexedBase("t", nonnegative=True)
missing, slack, largest = Symbol("u", nonnegative=True), Symbol("w", nonnegative=True), Symbol("P", real=True)
LARGEST, ERROR = Definition(largest, lambda: 1 - missing), Definition(error, lambda: missing + slack)

RANDOM = Context(families=(RandomFamily(query, Integer(0), deviation), RandomFamily(key, Integer(0), deviation)))
UNIT = Context(families=(RandomFamily(query, Integer(0), Integer(1)), RandomFamily(key, Integer(0), Integer(1))))
CONTEXT = Context(ranges={i: ROW, j: ROW, best: ROW})

SPREAD = Definition(spread, lambda: sqrt(width) * deviation**2)
WEIGHTS = Definition(p, weights(lambda m: spread * y[m], ROW), (i,))

VARIANCE = (
    Step(
        "The logits have the standard deviation s = √d_k σ²",
        Variance(dot(query, key)),
        spread**2,
        "The variance of an inner product without the scale, see variance_scaling.",
        MOMENT_ALGEBRA,
        RANDOM,
        where=(SPREAD,),
    ),
    Step(
        "At d_k = 64 and σ = 1 that is 8",
        spread,
        Integer(8),
        "So a logit of 16 is no exception, and e^16 is 8.9 million.",
        where=(SPREAD, Definition(width, lambda: Integer(64)), Definition(deviation, lambda: Integer(1))),
    ),
    Step(
        "Divided by s they have the variance 1",
        Variance(dot(query, key) / spread),
        Integer(1),
        "y = ⟨q, k⟩/s: what is left does not depend on d_k, and a logit is s y.",
        MOMENT_ALGEBRA,
        RANDOM,
        where=(SPREAD,),
    ),
    Step(
        "With the scale 1/√d_k the logits themselves have the variance 1",
        Expectation((dot(query, key) / sqrt(width)) ** 2),
        Integer(1),
        "For σ = 1: s is 1 at every width.",
        MOMENT_ALGEBRA,
        UNIT,
    ),
)


def others(distance: Expr) -> Expr:
    """Σ_{j≠b} e^(−s distance_j)."""
    return total(lambda m: (1 - KroneckerDelta(m, best)) * exp(-spread * distance(m)), "j", ROW)


def rivals_bound() -> Expr:
    """(n − 1) e^(−s g), which Σ_{j≠b} e^(−s (y_b − y_j)) does not exceed where all others are lower by g."""
    return (n - 1) * exp(-spread * gap)


ONE_HOT = (
    Step(
        "The largest weight",
        p[best],
        1 / (1 + others(lambda m: y[best] - y[m])),
        "Divide numerator and denominator by e^(s y_b), y_b being the largest.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Inequality(
        "What it lacks to 1 is at most the sum r of the others' exponentials",
        rivals,
        1 - 1 / (1 + rivals),
        "p_b = 1/(1 + r), by the step before.",
        certificate=rivals**2 / (1 + rivals),
    ),
    Inequality(
        "Which a gap g between the two largest bounds",
        rivals_bound(),
        others(lambda m: gap + behind[m]),
        "y_b − y_j = g + t_j with t_j ≥ 0 for every other j. The y have the variance 1: g does not depend on s.",
        context=CONTEXT,
        certificate=total(
            lambda m: (1 - KroneckerDelta(m, best)) * exp(-spread * gap) * (1 - exp(-spread * behind[m])),
            "j",
            ROW,
        ),
    ),
    Limit(
        "So the weights become one-hot as the logits' standard deviation grows",
        rivals_bound(),
        Integer(0),
        "1 − p_b → 0, and the other weights are not negative and add up to it.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.00134",
    ),
)

GRADIENT = (
    Inequality(
        "The Jacobian is at most twice what the largest weight lacks to 1",
        2 * error,
        2 * largest * (1 - largest),
        "‖J‖_∞ = 2P (1 − P) with P the largest weight, see softmax; with u = 1 − P at most ε: the rest is w.",
        certificate=2 * slack + 2 * missing**2,
        where=(LARGEST, ERROR),
    ),
    Limit(
        "It vanishes as the logits' standard deviation grows",
        2 * rivals_bound(),
        Integer(0),
        "ε = (n − 1) e^(−s g): softmax is saturated, and no gradient passes.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.00268",
    ),
    Limit(
        "Also where the gradient is taken by what the logits are made of",
        2 * spread * rivals_bound(),
        Integer(0),
        "∂p/∂y = s J: the factor s grows, but the exponential falls faster.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.02147",
    ),
)


def row_sum(standard_deviation: Expr) -> Expr:
    """2P (1 − P) of two logits that are one standard deviation apart."""
    weight = 1 / (1 + exp(-standard_deviation))
    return 2 * weight * (1 - weight)


NUMBERS = (
    Difference(
        "Two logits one standard deviation apart, without and with the scale, d_k = 64: the largest weight",
        1 / (1 + exp(-sqrt(width))),
        1 / (1 + exp(-Integer(1))),
        "s = 8: 0.99966, all but one-hot. s = 1: 0.7311.",
        example=World(symbols={width: 64}),
        values=("0.99966", "0.7311"),
    ),
    Difference(
        "And the Jacobian's largest row",
        row_sum(sqrt(width)),
        row_sum(Integer(1)),
        "0.000670 and 0.3932: without the scale the gradient is 586 times smaller.",
        example=World(symbols={width: 64}),
        values=("0.000670", "0.3932"),
    ),
    Difference(
        "Two equal largest logits do not saturate, whatever the variance",
        weights(entry_of(y), up_to(2))(Integer(1)),
        Integer(1),
        "Without a gap the two share the weight: 1/2. Of continuous distributions this has the probability 0.",
        example=World(arrays={(y, (1,)): 8, (y, (2,)): 8}),
        values=("0.5", "1"),
    ),
)

DERIVATION = Derivation(
    id="saturation",
    title="Logits of a large variance saturate softmax, which is what √d_k prevents",
    scope=Scope.SYMBOLIC,
    assumptions=(
        "q and k are independent; their components are independent with mean 0 and standard deviation σ.",
        "A row has n logits s y_1, …, s y_n, the y_j of variance 1; y_b is the largest of them, by a gap g > 0.",
        "p is the softmax of the row, J its Jacobian ∂p/∂(s y), ‖J‖_∞ the largest sum of absolute values in a row of "
        "J.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.1",
            "for large values of d_k, the dot products grow large in magnitude, pushing the softmax function into "
            "regions where it has extremely small gradients",
        ),
        Source("Seed document 000", comment="the scale keeps the logits' variance and so the gradients"),
        Source("Seed document 001", "scaling factor to prevent softmax saturation"),
    ),
    steps=VARIANCE + ONE_HOT + GRADIENT + NUMBERS,
    remarks=(
        "The scale keeps the variance at initialisation; logits that training makes large saturate all the same.",
    ),
    reason_without_law="That logits are divided by √d_k is a definition; this says what they do without it.",
)
