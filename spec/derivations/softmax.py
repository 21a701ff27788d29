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
    Meaning,
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
        "The weights sum to 1, so 1 − p_i is the sum of the other weights.",
        context=CONTEXT,
        certificate=total(lambda m: (1 - KroneckerDelta(i, m)) * p(m), "m", ROW),
        optional=True,
    ),
    Step(
        "Adding a constant to all logits changes nothing",
        weights(lambda m: x[m] + shift, ROW)(i),
        p(i),
        "Every exponential gains the factor e^c, and the fraction loses it again. Hence subtracting the largest logit "
        "first changes nothing but the rounding.",
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
        "The quotient rule. As a matrix, J is diag(p) − p pᵀ: the weights on the diagonal, less the products of "
        "weights.",
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
        "Every row of the Jacobian sums to 0",
        total(lambda m: jacobian(i, m), "k", ROW),
        Integer(0),
        "Adding a constant to all logits changes no weight, and this is the derivative of that fact: every row of J "
        "sums to 0.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Step(
        "vᵀJv is a variance",
        quadratic_form(lambda r, s: direction[r] * jacobian(r, s) * direction[s]),
        quadratic_form(lambda r, s: P[r] * P[s] * (direction[r] - direction[s]) ** 2) / 2,
        "Expand the square: each of the two squares gives Σ p_i v_i², the mixed term −2 (Σ p_i v_i)². Half of the sum "
        "is Σ p_i v_i² − (Σ p_i v_i)², the variance of v under the weights.",
        context=CONTEXT,
        where=(WEIGHTS,),
        optional=True,
    ),
    Inequality(
        "The Jacobian is positive semidefinite",
        quadratic_form(lambda r, s: direction[r] * jacobian(r, s) * direction[s]),
        Integer(0),
        "By the step before it is a sum of weights times squares.",
        context=CONTEXT,
        where=(WEIGHTS,),
        certificate=quadratic_form(lambda r, s: P[r] * P[s] * (direction[r] - direction[s]) ** 2 / 2),
        optional=True,
    ),
)

q, lower, excess = Symbol("q", nonnegative=True), Symbol("a", nonnegative=True), Symbol("h", nonnegative=True)
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
        "The entries beyond the diagonal have the magnitudes p_i p_k, which sum to p_i (1 − p_i) over k ≠ i: as much "
        "as the diagonal.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Inequality(
        "The largest weight has the largest row sum",
        p_max * (1 - p_max),
        q * (1 - q),
        "For another weight q of the same row, q ≤ P and q + P ≤ 1: write P = q + a and 1 = P + q + h. "
        "The difference of the sides is (P − q)(1 − P − q) = a h.",
        context=Context(parametrisation={p_max: (1 + lower - excess) / 2, q: (1 - lower - excess) / 2}),
        certificate=(p_max - q) * (1 - p_max - q),
    ),
    Inequality(
        "The bound 1/2",
        HALF,
        2 * q * (1 - q),
        "Hence ‖J‖_∞ = 2P (1 − P) ≤ 1/2: the largest change of a weight is at most half the largest change of a logit.",
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
        optional=True,
    ),
    Step(
        "The largest weight",
        sharpened(best),
        1 / (1 + rivals(best)),
        "Divide numerator and denominator of the weight of x_b by e^(β x_b).",
        context=CONTEXT,
        optional=True,
    ),
    Inequality(
        "The largest weight falls short of 1 by at most r, the rivals' sum",
        others,
        1 - 1 / (1 + others),
        "By the step before the largest weight is 1/(1 + r), so this is r ≥ 1 − p_b.",
        certificate=others**2 / (1 + others),
        optional=True,
    ),
    Inequality(
        "A gap g bounds the rivals' sum",
        (n - 1) * exp(-beta * gap),
        total(lambda m: (1 - KroneckerDelta(m, best)) * exp(-beta * (gap + slack[m])), "j", ROW),
        "If the largest logit is the only one of its size, x_b − x_j = g + s_j with s_j ≥ 0 for every rival, and the "
        "sum of the rivals is at most (n − 1) e^(−β g).",
        context=CONTEXT,
        certificate=total(
            lambda m: (1 - KroneckerDelta(m, best)) * exp(-beta * gap) * (1 - exp(-beta * slack[m])),
            "j",
            ROW,
        ),
        optional=True,
    ),
    Limit(
        "With one largest logit the gradient vanishes",
        2 * beta * (n - 1) * exp(-beta * gap),
        Integer(0),
        "With the logits β x the derivatives by the x_k are β J, and ‖β J‖_∞ = 2β p_b (1 − p_b) ≤ 2β (n − 1) e^(−β "
        "g): softmax saturates.",
        variable=beta,
        point=oo,
        example=World(symbols={beta: 3, n: 5, gap: 2}),
        value="0.05949",
        optional=True,
    ),
    Step(
        "With two equal largest logits the largest weight has another form",
        sharpened(best),
        shared(rivals(best, tied)),
        "After division by e^(β x_b) each of the two largest logits contributes 1 to the denominator.",
        context=TIE,
        optional=True,
    ),
    Limit(
        "With two equal largest logits the weight of each tends to 1/2",
        shared(others),
        HALF,
        "The sum r over the other logits tends to 0 as before, so the weight tends to 1/2 and not to 1.",
        variable=others,
        point=Integer(0),
        optional=True,
    ),
    Limit(
        "With two equal largest logits the gradient does not vanish",
        written(lambda: 2 * beta * HALF * (1 - HALF)),
        oo,
        "‖β J‖_∞ = 2β p_b (1 − p_b) with p_b → 1/2 grows without bound: softmax saturates only where one logit is the "
        "largest.",
        variable=beta,
        point=oo,
        example=World(symbols={beta: 8}),
        value="4.0",
        optional=True,
    ),
)

left, right = real("u"), real("w")

EXHIBITS = (
    Difference(
        "Scaling all logits does change the weights",
        exp(2 * left) / (exp(2 * left) + exp(2 * right)),
        exp(left) / (exp(left) + exp(right)),
        "Adding a constant changes no weight, but multiplying by one does: here two logits 3 and 2 are doubled.",
        example=World(symbols={left: 3, right: 2}),
        values=("0.8808", "0.7311"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="softmax",
    title="What softmax guarantees, and how its Jacobian is bounded",
    opening=(
        "Which facts about softmax weights hold for every row of logits, and how strongly can the weights react to "
        "a change of a logit? Many laws of attention rest on these facts, and the Jacobian, the table of all "
        "derivatives, says where gradients pass and where they vanish."
    ),
    see_also=(
        "saturation",
        "masking",
        "cross_entropy",
        "online_softmax",
        "backward",
        "attention_backward",
    ),
    symbols=(
        Meaning((n,), "how many logits a row has"),
        Meaning((x,), "the logits of a row"),
        Meaning((i, k), "numbers of logits in the row, from 1 to n"),
        Meaning((P,), "the weights: p_i = e^(x_i) / Σ_l e^(x_l)"),
        Meaning((shift,), "a constant added to every logit"),
        Meaning((permutation,), "a permutation of the places 1, …, n"),
        Meaning(
            (Symbol("J"),),
            "the Jacobian: J_ik is the derivative of p_i by x_k; ‖J‖_∞ is its largest sum of magnitudes in a row",
        ),
        Meaning((direction,), "any vector of n numbers"),
        Meaning((p_max, q), "the largest weight of a row, and any other weight of it"),
        Meaning((lower, excess), "a = P − q and h = 1 − P − q, neither of them negative"),
        Meaning((beta,), "a positive factor of all logits"),
        Meaning((best, tied), "the number of the largest logit, and that of a second one of the same size"),
        Meaning((gap,), "the gap: x_b is larger than every other logit by g or more"),
        Meaning((slack,), "s_j is by how much more than g the logit x_j lies below x_b"),
        Meaning((others,), "Σ e^(−β (x_b − x_j)) over the rivals, which are all logits but the largest ones"),
        Meaning((left, right), "two logits"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("A row has n ≥ 1 logits x_1, …, x_n, which are real numbers.",),
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
        "J is symmetric, so its largest eigenvalue is at most ‖J‖_∞: in the Euclidean norm too the weights change by "
        "at most half as much as the logits.",
        "Multiplying the logits by β multiplies the derivatives by the x_k by β, and takes them at the logits β x.",
    ),
)
