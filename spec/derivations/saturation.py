"""From the variance of the logits to a softmax that is one-hot and has no gradient, which √d_k prevents."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, Symbol, exp, oo, sqrt
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.definitions import Definition
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
from veriformer.spec.derivations.expressions import Expectation, Variance, total
from veriformer.spec.derivations.formulas import array, entry_of, index, positive, size, up_to, weights
from veriformer.spec.derivations.one_deviation_apart import WITHOUT_AND_WITH, width
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA
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
        "The variance of an inner product of independent components with mean 0, as the derivation variance_scaling "
        "shows.",
        MOMENT_ALGEBRA,
        RANDOM,
        where=(SPREAD,),
    ),
    Step(
        "At d_k = 64 and σ = 1 the standard deviation is 8",
        spread,
        Integer(8),
        "So a logit of 16, two standard deviations, is nothing unusual, and e^16 is 8.9 million.",
        where=(SPREAD, Definition(width, lambda: Integer(64)), Definition(deviation, lambda: Integer(1))),
    ),
    Step(
        "Divided by s the logits have the variance 1",
        Variance(dot(query, key) / spread),
        Integer(1),
        "Write a logit as s y: the distribution of y = ⟨q, k⟩/s has the variance 1 at every width d_k.",
        MOMENT_ALGEBRA,
        RANDOM,
        where=(SPREAD,),
    ),
    Step(
        "After division by √d_k the logits themselves have the variance 1",
        Expectation((dot(query, key) / sqrt(width)) ** 2),
        Integer(1),
        "The division puts 1 in the place of s for σ = 1, at every width.",
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
        "Divide numerator and denominator of p_b by e^(s y_b).",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Inequality(
        "The largest weight falls short of 1 by at most r",
        rivals,
        1 - 1 / (1 + rivals),
        "By the step before p_b = 1/(1 + r), so this is r ≥ 1 − p_b.",
        certificate=rivals**2 / (1 + rivals),
    ),
    Inequality(
        "A gap g bounds r",
        rivals_bound(),
        others(lambda m: gap + behind[m]),
        "For every j but b, y_b − y_j = g + t_j with t_j ≥ 0. The gap g does not depend on s, since the y have the "
        "variance 1.",
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
        "By the two steps before, 1 − p_b ≤ (n − 1) e^(−s g). The other weights are not negative and add up to 1 − "
        "p_b: they tend to 0 too.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.00134",
    ),
)

GRADIENT = (
    Inequality(
        "The Jacobian is at most twice the amount by which the largest weight falls short of 1",
        2 * error,
        2 * largest * (1 - largest),
        "The derivation softmax shows ‖J‖_∞ = 2P (1 − P) for the largest weight P = 1 − u. If u ≤ ε, that is at most "
        "2ε; w is ε − u.",
        certificate=2 * slack + 2 * missing**2,
        where=(LARGEST, ERROR),
    ),
    Limit(
        "The Jacobian vanishes as the logits' standard deviation grows",
        2 * rivals_bound(),
        Integer(0),
        "The step before with ε = (n − 1) e^(−s g): softmax is saturated, and no gradient passes.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.00268",
    ),
    Limit(
        "The derivatives by the y_j vanish too",
        2 * spread * rivals_bound(),
        Integer(0),
        "The derivative of the weights by the y_j is s J. The factor s grows, but the exponential falls faster.",
        variable=spread,
        point=oo,
        example=World(symbols={spread: 8, gap: 1, n: 5}),
        value="0.02147",
    ),
)


TIE = (
    Difference(
        "Two equal largest logits do not saturate, whatever the variance",
        weights(entry_of(y), up_to(2))(Integer(1)),
        Integer(1),
        "So the gap is needed: two equal largest logits share the weight, 1/2 each. Logits of a continuous "
        "distribution are equal with probability 0.",
        example=World(arrays={(y, (1,)): 8, (y, (2,)): 8}),
        values=("0.5", "1"),
    ),
)

DERIVATION = Derivation(
    id="saturation",
    title="Widely spread logits saturate softmax, and dividing them by √d_k prevents it",
    opening=(
        "What happens to softmax when its logits are spread widely, which dividing them by √d_k prevents? The "
        "largest weight tends to 1 and the gradient to 0, so that a model that starts with such logits hardly "
        "learns."
    ),
    see_also=(
        "variance_scaling",
        "softmax",
        "softcap",
    ),
    symbols=(
        Meaning((query, key), "a query and a key; their components q_i and k_i are random numbers"),
        Meaning((width,), "the width: how many components a query and a key have"),
        Meaning((deviation,), "the standard deviation of a component"),
        Meaning((spread,), "the standard deviation of a logit"),
        Meaning((n,), "how many logits a row has"),
        Meaning((y,), "the logits of a row divided by s: row j has the logit s y_j"),
        Meaning((i, j), "numbers of logits in the row, from 1 to n"),
        Meaning((best,), "the number of the largest logit"),
        Meaning((p,), "the weights, the softmax of the row"),
        Meaning((gap,), "the gap: y_b is larger than every other y_j by g or more"),
        Meaning((behind,), "t_j is by how much more than g the number y_j lies below y_b"),
        Meaning((rivals,), "Σ e^(−s (y_b − y_j)) over all j but b"),
        Meaning((largest, missing), "the largest weight, and by how much it falls short of 1"),
        Meaning((error, slack), "a bound on u, and by how much it exceeds u"),
        Meaning(
            (Symbol("J"),),
            "the Jacobian: J_ij is the derivative of p_i by the logit s y_j; ‖J‖_∞ is its largest sum of magnitudes "
            "in a row",
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "q and k are independent; their components are independent with mean 0 and standard deviation σ.",
        "A row has the logits s y_1, …, s y_n, where the y_j have the variance 1. The largest of them is s y_b, and "
        "the gap g between it and the next is positive.",
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
    steps=WITHOUT_AND_WITH + VARIANCE + ONE_HOT + GRADIENT + TIE,
    remarks=(
        "The division keeps the variance of the logits at initialisation; logits that training makes large saturate "
        "softmax all the same.",
    ),
    reason_without_law="That logits are divided by √d_k is a definition; this says what they do without it.",
)
