"""Row sums, symmetries, the Jacobian diag(p) − ppᵀ and its bounds, and the conditions of saturation."""

from __future__ import annotations

from sympy import Expr, Function, IndexedBase, Integer, KroneckerDelta, Rational, Symbol, exp, oo
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import (
    Derivation,
    Difference,
    Inequality,
    Limit,
    Scope,
    Source,
    Step,
)
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import (
    Entries,
    array,
    entry_of,
    index,
    positive,
    real,
    size,
    up_to,
    weights,
)

n = size("n")
ROW = up_to(n)
i, j, k, best = index("i"), index("j"), index("k"), index("b")
x, direction = array("x"), array("v")
shift, beta, gap = real("c"), positive("beta"), positive("g")
permutation = Function("pi", integer=True)
CONTEXT = Context(ranges={i: ROW, j: ROW, k: ROW, best: ROW}, bijections={permutation: ROW})
HALF = Rational(1, 2)

p = weights(entry_of(x), ROW)
WEIGHTS = Definition(array("p"), p, (i,))
P = WEIGHTS.name


def jacobian(row: Expr, column: Expr) -> Expr:
    """J = diag(p) − ppᵀ, in terms of the name p."""
    return P[row] * (KroneckerDelta(row, column) - P[column])


def quadratic_form(of: Entries) -> Expr:
    """Σ_i Σ_k of(i, k)."""
    return total(lambda r: total(lambda s: of(r, s), "k", ROW), "i", ROW)


IDENTITIES = (
    Step(
        "The weights of a row sum to 1",
        total(p, "i", ROW),
        Integer(1),
        "The denominator is the sum of the numerators.",
        context=CONTEXT,
    ),
    Inequality(
        "Weights are not negative",
        p(i),
        Integer(0),
        "Exponentials are positive.",
        context=CONTEXT,
        certificate=p(i),
    ),
    Inequality(
        "Weights are at most 1",
        Integer(1),
        p(i),
        "What is missing to 1 is the sum of the other weights.",
        context=CONTEXT,
        certificate=total(lambda m: (1 - KroneckerDelta(i, m)) * p(m), "m", ROW),
    ),
    Step(
        "Adding a constant to all logits changes nothing",
        weights(lambda m: x[m] + shift, ROW)(i),
        p(i),
        "e^(x+c) = e^x e^c, and e^c cancels. Hence subtracting the maximum is exact.",
        context=CONTEXT,
    ),
    Step(
        "Permuting the logits permutes the weights",
        weights(lambda m: x[permutation(m)], ROW)(i),
        p(permutation(i)),
        "The denominator runs over the same terms in another order.",
        context=CONTEXT,
    ),
)

JACOBIAN = (
    Step(
        "The Jacobian",
        Partial(P[i], x[k]),
        jacobian(i, k),
        "The quotient rule; J = diag(p) − p pᵀ.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "The Jacobian is symmetric",
        jacobian(i, k),
        jacobian(k, i),
        "p_i p_k is symmetric, and δ_ik p_i = δ_ik p_k.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "The Jacobian annihilates constants",
        total(lambda m: jacobian(i, m), "k", ROW),
        Integer(0),
        "The derivative of shift invariance: J 1 = 0. So J is singular.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "vᵀJv is a variance",
        quadratic_form(lambda r, s: direction[r] * jacobian(r, s) * direction[s]),
        quadratic_form(lambda r, s: P[r] * P[s] * (direction[r] - direction[s]) ** 2) / 2,
        "Expand the square: each of the two squares gives Σ p v², the cross term −(Σ p v)².",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Inequality(
        "The Jacobian is positive semidefinite",
        quadratic_form(lambda r, s: direction[r] * jacobian(r, s) * direction[s]),
        Integer(0),
        "By the step before: weights times squares.",
        context=CONTEXT,
        where=(WEIGHTS,),
        certificate=quadratic_form(lambda r, s: P[r] * P[s] * (direction[r] - direction[s]) ** 2 / 2),
    ),
)

q, lower, excess = Symbol("q", nonnegative=True), Symbol("a", nonnegative=True), Symbol("r", nonnegative=True)
p_max = Symbol("P", nonnegative=True)


def magnitude(row: Expr, column: Expr) -> Expr:
    """|J_ik| = (2δ_ik − 1) J_ik."""
    return (2 * KroneckerDelta(row, column) - 1) * jacobian(row, column)


BOUND = (
    Step(
        "The magnitudes of the Jacobian",
        magnitude(i, k),
        KroneckerDelta(i, k) * P[i] * (1 - P[i]) + (1 - KroneckerDelta(i, k)) * P[i] * P[k],
        "On the diagonal J_ii = p_i (1 − p_i), elsewhere J_ik = −p_i p_k: the factor 2δ_ik − 1 makes both |J_ik|.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "The absolute row sum of the Jacobian",
        total(lambda m: magnitude(i, m), "k", ROW),
        2 * P[i] * (1 - P[i]),
        "The sum of the magnitudes: Σ_k p_i p_k without k = i is p_i (1 − p_i), as much as the diagonal.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Inequality(
        "The largest weight has the largest row sum",
        p_max * (1 - p_max),
        q * (1 - q),
        "For another weight q of the same row, q ≤ P and q + P ≤ 1: write P = q + a and 1 = P + q + r. "
        "The difference is (P − q)(1 − P − q) = a r.",
        context=Context(parametrisation={p_max: (1 + lower - excess) / 2, q: (1 - lower - excess) / 2}),
        certificate=(p_max - q) * (1 - p_max - q),
    ),
    Inequality(
        "The bound 1/2",
        HALF,
        2 * q * (1 - q),
        "Hence ‖J‖_∞ = 2 p_max (1 − p_max) ≤ 1/2: softmax halves differences of logits at least.",
        certificate=2 * (q - HALF) ** 2,
    ),
)

tied = index("t")
others, slack = Symbol("r", nonnegative=True), IndexedBase("s", nonnegative=True)


def rivals(*winners: Expr) -> Expr:
    """Σ e^(−β(x_b − x_j)) over all j that are not among the winners, b being the first of them."""

    def summand(m: Expr) -> Expr:
        rest = Integer(1)
        for winner in winners:
            rest *= 1 - KroneckerDelta(m, winner)
        return rest * exp(-beta * (x[winners[0]] - x[m]))

    return total(summand, "j", ROW)


def shared(others: Expr) -> Expr:
    """The weight of each of two equal maxima, whose rivals have that sum: 1/(2 + r)."""
    return 1 / (2 + others)


sharpened = weights(lambda m: beta * x[m], ROW)
SHARPENED = Definition(P, sharpened, (i,))
TIE = Context(ranges={best: ROW, tied: ROW}, facts={KroneckerDelta(best, tied): Integer(0), x[tied]: x[best]})

SATURATION = (
    Step(
        "How a growing scale β moves the weights",
        Partial(P[i], beta),
        P[i] * (x[i] - total(lambda m: P[m] * x[m], "j", ROW)),
        "Weights of logits above the weighted mean grow, the others shrink.",
        context=CONTEXT,
        where=(SHARPENED,),
    ),
    Step(
        "The largest weight",
        sharpened(best),
        1 / (1 + rivals(best)),
        "Divide numerator and denominator by e^(βx_b).",
        context=CONTEXT,
    ),
    Inequality(
        "What is missing to 1 is at most the rivals' sum r",
        others,
        1 - 1 / (1 + others),
        "1 − p_b = r/(1 + r), with r = Σ_{j≠b} e^(−β(x_b − x_j)).",
        certificate=others**2 / (1 + others),
    ),
    Inequality(
        "A gap g bounds the rivals' sum",
        (n - 1) * exp(-beta * gap),
        total(lambda m: (1 - KroneckerDelta(m, best)) * exp(-beta * (gap + slack[m])), "j", ROW),
        "If the maximum is unique, x_b − x_j = g + s_j with s_j ≥ 0 for every rival, so that r ≤ (n − 1) e^(−βg).",
        context=CONTEXT,
        certificate=total(
            lambda m: (1 - KroneckerDelta(m, best)) * exp(-beta * gap) * (1 - exp(-beta * slack[m])),
            "j",
            ROW,
        ),
    ),
    Limit(
        "With a unique maximum the gradient vanishes",
        2 * beta * (n - 1) * exp(-beta * gap),
        Integer(0),
        "The Jacobian of softmax(βx) is βJ, and ‖βJ‖_∞ = 2β p_b (1 − p_b) ≤ 2β (n − 1) e^(−βg): softmax saturates.",
        variable=beta,
        point=oo,
        example=World(symbols={beta: 3, n: 5, gap: 2}),
        value="0.05949",
    ),
    Step(
        "With two equal maxima the largest weight is another",
        sharpened(best),
        shared(rivals(best, tied)),
        "Both maxima contribute 1 after division by e^(βx_b).",
        context=TIE,
    ),
    Limit(
        "With two equal maxima their weight tends to 1/2",
        shared(others),
        HALF,
        "The other rivals' sum r tends to 0 as before, and 1 is never approached.",
        variable=others,
        point=Integer(0),
    ),
    Limit(
        "With two equal maxima the gradient does not vanish",
        written(lambda: 2 * beta * HALF * (1 - HALF)),
        oo,
        "‖βJ‖_∞ = 2β p_b (1 − p_b) with p_b → 1/2 grows without bound: saturation needs a unique maximum.",
        variable=beta,
        point=oo,
        example=World(symbols={beta: 8}),
        value="4.0",
    ),
)

left, right = real("u"), real("w")

EXHIBITS = (
    Difference(
        "Scaling all logits does change the weights",
        exp(2 * left) / (exp(2 * left) + exp(2 * right)),
        exp(left) / (exp(left) + exp(right)),
        "Softmax is invariant under shifts, not under scaling. Two logits 3 and 2, doubled.",
        example=World(symbols={left: 3, right: 2}),
        values=("0.8808", "0.7311"),
    ),
)

DERIVATION = Derivation(
    id="softmax",
    title="What softmax guarantees, and how its Jacobian is bounded",
    scope=Scope.SYMBOLIC,
    assumptions=("A row of n ≥ 1 real logits x_1, …, x_n; p_i = e^(x_i) / Σ_l e^(x_l).",),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.1",
            "pushing the softmax function into regions where it has extremely small gradients",
        ),
        Source("Seed document 003", "where each row sums to 1"),
        Source(
            "Seed document 004, section Multi-Head Attention",
            "these differences are amplified by passing through softmax",
            "of differences between logits the bound 1/2 says the opposite",
        ),
    ),
    steps=IDENTITIES + JACOBIAN + BOUND + SATURATION + EXHIBITS,
    remarks=(
        "Since J is symmetric, its largest eigenvalue is at most ‖J‖_∞: softmax is 1/2-Lipschitz in the "
        "Euclidean norm.",
        "The Jacobian of softmax(βx) with respect to x is β times the Jacobian at βx.",
    ),
)
