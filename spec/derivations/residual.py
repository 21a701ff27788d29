"""What residual connections hand on, and why the place of the norm decides whether the identity is part of it."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, Rational, oo, sin, sqrt
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, real, size, up_to
from veriformer.spec.derivations.layer_norm import COMPONENTS, d, epsilon, mean, normalised, variance, x
from veriformer.spec.derivations.layer_norm import jacobian as norm_jacobian

width, depth = size("h"), size("n")
i, k = index("i"), index("k")
outer, inner = array("W"), array("U")
sublayer, remainder, contribution = array("J"), array("R"), array("f")
gain, offset = IndexedBase("gamma", positive=True), array("beta")
mark, shift, rate, common_gain, common_offset = real("t"), real("c"), positive("g"), real("gamma"), real("beta")
OWN = entry_of(x)
ENTRIES = Context(ranges={i: COMPONENTS, k: COMPONENTS})
ZERO_SUBLAYER = Context(ranges=ENTRIES.ranges, blocks=(Block(outer, (None, None), 0),))
NEWEST = Context(ranges=ENTRIES.ranges, splits={up_to(depth + 1): depth})


def network(row: Expr, read: Entries) -> Expr:
    """f_i(z) = Σ_j W[i, j] sin(Σ_l U[j, l] z_l): a sublayer that is not linear."""
    return total(
        lambda j: outer[row, j] * sin(total(lambda m: inner[j, m] * read(m), "l", COMPONENTS)), "j", up_to(width)
    )


def layer(own: Expr, branch: Expr) -> Expr:
    """What a residual layer makes of its input and of its sublayer's result, or of the Jacobians of both: the sum."""
    return own + branch


f = array("f")
SUBLAYER = Definition(f, lambda row: network(row, OWN), (i,))


def identity_plus(jacobian: IndexedBase, row: Expr, column: Expr, factor: Expr | int = 1) -> Expr:
    """The entry of I + t J."""
    return KroneckerDelta(row, column) + factor * jacobian[row, column]


def product(row: Expr, column: Expr) -> Expr:
    """Entry of (I + t J)(I + t R): a layer after a stack whose Jacobian is I + t R."""
    return total(
        lambda m: identity_plus(sublayer, row, m, mark) * identity_plus(remainder, m, column, mark), "l", COMPONENTS
    )


def both(row: Expr, column: Expr) -> Expr:
    """Entry of J R."""
    return total(lambda m: sublayer[row, m] * remainder[m, column], "l", COMPONENTS)


KEPT = (
    Step(
        "The Jacobian of a residual layer is I + ∂f",
        Partial(layer(x[i], f[i]), x[k]),
        KroneckerDelta(i, k) + Partial(f[i], x[k]),
        "The derivative of a sum. The sublayer f is a network with the weights U and W and one hidden layer of h "
        "sines. Nothing of its form is used except that it can be differentiated.",
        context=ENTRIES,
        where=(SUBLAYER,),
    ),
    Step(
        "One layer more: the identity term stays, with coefficient 1",
        product(i, k),
        KroneckerDelta(i, k) + mark * (sublayer[i, k] + remainder[i, k] + mark * both(i, k)),
        "Let a mark t count sublayers. If a stack has the Jacobian I + tR, then with one layer more it is I + tR' "
        "with R' = J + R + tJR. By induction the Jacobian of n layers has 2^n terms. All of them but one pass through "
        "a sublayer, and that one is I.",
        context=ENTRIES,
    ),
    Step(
        "The output is the input plus what each layer adds",
        written(lambda: (x[i] + total(lambda m: contribution[m, i], "l", up_to(depth))) + contribution[depth + 1, i]),
        x[i] + total(lambda m: contribution[m, i], "l", up_to(depth + 1)),
        "By induction: no layer replaces what came before it.",
        context=NEWEST,
    ),
    Step(
        "A residual layer whose sublayer is zero is the identity",
        layer(x[i], f[i]),
        x[i],
        "All entries of W are 0, for instance because the last projection starts at zero.",
        context=ZERO_SUBLAYER,
        where=(SUBLAYER,),
    ),
)

SIZE = (
    Limit(
        "The identity term does not keep the product from exploding",
        Rational(11, 10) ** depth,
        oo,
        "Take one component and the Jacobian 1/10 for every sublayer: the Jacobian of n layers is 1.1^n.",
        variable=depth,
        point=oo,
        optional=True,
    ),
    Limit(
        "The identity term does not keep the product from vanishing",
        (1 - rate / (1 + rate)) ** depth,
        Integer(0),
        "Take one component and the Jacobian −g/(1 + g) for every sublayer: the other terms cancel the identity.",
        variable=depth,
        point=oo,
        example=World(symbols={rate: 1, depth: 10}),
        value="0.00098",
        optional=True,
    ),
)


def pre_norm(row: Expr, vector: Entries = OWN) -> Expr:
    """z_i + f_i(LN(z)): the sublayer reads the normalised vector."""
    return layer(vector(row), network(row, lambda m: normalised(vector, m)))


def pre_norm_jacobian(row: Expr, column: Expr) -> Expr:
    """δ_ik + Σ_m J[i, m] N[m, k], N being the Jacobian of the norm."""
    of_sublayer = total(lambda m: sublayer[row, m] * norm_jacobian(m, column), "m", COMPONENTS)
    return layer(KroneckerDelta(row, column), of_sublayer)


PRE_NORM = (
    Step(
        "Pre-norm: a constant added to all components passes unchanged",
        pre_norm(i, lambda m: x[m] + shift),
        pre_norm(i) + shift,
        "The norm removes the constant from what the sublayer reads, and the residual connection hands it on. This "
        "holds for any number of layers and any sublayers.",
        context=ENTRIES,
    ),
    Step(
        "The Jacobian of pre-norm keeps the direction 1 exactly",
        total(lambda m: pre_norm_jacobian(i, m), "k", COMPONENTS),
        Integer(1),
        "The derivative of the step before: (I + J N) 1 = 1, since N 1 = 0. In this direction nothing explodes or "
        "vanishes, at any depth.",
        context=ENTRIES,
    ),
)


def sharp(row: Expr, column: Expr) -> Expr:
    """The norm's Jacobian at ε = 0."""
    return norm_jacobian(row, column).xreplace({epsilon: Integer(0)})


def unit(place: Expr) -> Expr:
    """y_i = (x_i − μ)/√v, the norm's output at ε = 0."""
    return (x[place] - mean(OWN)) / sqrt(variance(OWN))


def projector(row: Expr, column: Expr) -> Expr:
    """δ_ik − 1/d − y_i y_k/d = √v N at ε = 0."""
    return KroneckerDelta(row, column) - 1 / d - unit(row) * unit(column) / d


N, P = array("N"), array("P")
NORM_JACOBIAN = Definition(N, sharp, (i, k))
PROJECTOR = Definition(P, projector, (i, k))
UNIT = Definition(array("y"), unit, (i,))


def post_norm_jacobian(row: Expr, column: Expr) -> Expr:
    """Σ_m N[i, m] (δ_mk + J[m, k])."""
    return total(lambda m: N[row, m] * identity_plus(sublayer, m, column), "m'", COMPONENTS)


POST_NORM = (
    Step(
        "Post-norm: the norm's Jacobian multiplies the identity too",
        post_norm_jacobian(i, k),
        N[i, k] + total(lambda m: N[i, m] * sublayer[m, k], "m", COMPONENTS),
        "The chain rule for LN(x + f(x)): N (I + J) = N + N J. The term without a sublayer is N, not I.",
        context=ENTRIES,
        where=(NORM_JACOBIAN,),
        optional=True,
    ),
    Step(
        "At ε = 0 the norm's Jacobian is a projector over √v",
        sqrt(variance(OWN)) * N[i, k],
        PROJECTOR.name[i, k],
        "√v N = I − 11ᵀ/d − yyᵀ/d with the normalised vector y = (x − μ)/√v.",
        context=ENTRIES,
        where=(NORM_JACOBIAN, PROJECTOR),
        optional=True,
    ),
    Step(
        "The projector applied twice is the projector",
        total(lambda m: P[i, m] * P[m, k], "m'", COMPONENTS),
        P[i, k],
        "P = I − 11ᵀ/d − yyᵀ/d, and 1/√d and y/√d are orthogonal unit vectors.",
        context=ENTRIES,
        where=(PROJECTOR,),
        optional=True,
    ),
    Step(
        "Two of d directions are lost in a post-norm layer",
        total(lambda m: P[m, m], "i", COMPONENTS),
        d - 2,
        "The trace of a projector is its rank. With d = 2 nothing is left: the Jacobian is zero.",
        context=ENTRIES,
        where=(PROJECTOR,),
        optional=True,
    ),
    Step(
        "The direction 1 is lost",
        total(lambda m: N[i, m], "k", COMPONENTS),
        Integer(0),
        "Every row of N sums to 0, and N is symmetric. So a gradient along the vector of ones is stopped by every "
        "post-norm layer.",
        context=ENTRIES,
        where=(NORM_JACOBIAN,),
        optional=True,
    ),
    Step(
        "The direction of the normalised vector is lost",
        total(lambda m: N[i, m] * UNIT.name[m], "k", COMPONENTS),
        Integer(0),
        "N y = 0 and N is symmetric. So a gradient along the layer's output, without gain and offset, is stopped too.",
        context=ENTRIES,
        where=(NORM_JACOBIAN, UNIT),
        optional=True,
    ),
    Step(
        "A gradient along 1 is stopped, sublayer or not",
        total(lambda m: post_norm_jacobian(m, k), "i", COMPONENTS),
        Integer(0),
        "Whatever J is, the columns of N (I + J) sum to 0: no identity term lets the gradient through.",
        context=ENTRIES,
        where=(NORM_JACOBIAN,),
    ),
)


def post_norm(row: Expr) -> Expr:
    """γ_i LN(u)_i + β_i."""
    return gain[row] * normalised(OWN, row) + offset[row]


def plain_post_norm(row: Expr) -> Expr:
    """γ LN(u)_i + β with one gain and one offset for all components."""
    return common_gain * normalised(OWN, row) + common_offset


OUTPUTS = (
    Step(
        "A post-norm layer's outputs have mean 0 before gain and offset",
        total(lambda m: (post_norm(m) - offset[m]) / gain[m], "i", COMPONENTS),
        Integer(0),
        "The norm comes last, whatever the sublayer did.",
        context=ENTRIES,
    ),
    Step(
        "A post-norm layer's outputs have variance v/(v + ε) before gain and offset",
        total(lambda m: ((post_norm(m) - offset[m]) / gain[m]) ** 2, "i", COMPONENTS) / d,
        variance(OWN) / (variance(OWN) + epsilon),
        "v is the variance of what is normalised. At ε = 0 it is 1, however large the sublayer's output was.",
        context=ENTRIES,
    ),
    Step(
        "With one gain and one offset the mean is β",
        total(plain_post_norm, "i", COMPONENTS) / d,
        common_offset,
        "By the step on the mean it is γ · 0 + β.",
        context=ENTRIES,
    ),
    Step(
        "With one gain and one offset the variance is γ² v/(v + ε)",
        total(lambda m: (plain_post_norm(m) - common_offset) ** 2, "i", COMPONENTS) / d,
        common_gain**2 * variance(OWN) / (variance(OWN) + epsilon),
        "The offset moves the mean, the gain the deviations.",
        context=ENTRIES,
    ),
    Difference(
        "A post-norm layer whose sublayer is zero is not the identity",
        normalised(OWN, i),
        x[i],
        "x = (1, 2, 3) with ε = 1/100: the third component becomes 1.21566.",
        example=World(
            symbols={d: 3, i: 3, epsilon: Fraction(1, 100)},
            arrays={(x, (m,)): m for m in (1, 2, 3)},
        ),
        values=("1.21566", "3"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="residual",
    title="Residual connections: pre-norm keeps the identity, post-norm does not",
    opening=(
        "What do residual connections hand on through many layers, and does it matter whether the norm stands "
        "inside or outside of them? Pre-norm keeps a path along which input and gradient pass unchanged; post-norm "
        "does not, which is why deep post-norm models are harder to train."
    ),
    see_also=("layer_norm", "initialisation"),
    symbols=(
        Meaning((d,), "the width of a token"),
        Meaning((width,), "how many hidden units the sublayer has"),
        Meaning((depth,), "how many layers there are"),
        Meaning((i, k), "numbers of components, from 1 to d"),
        Meaning((x,), "the components of one token, the input of a layer or of its norm"),
        Meaning((outer, inner), "the matrices of a sublayer with one hidden layer"),
        Meaning((f,), "the result of a sublayer; with two indices, that of the layer that the first one names"),
        Meaning((sublayer,), "the Jacobian of a sublayer: J_ik is the derivative of its result i by its input k"),
        Meaning((remainder,), "the Jacobian of a stack of layers is I + t R"),
        Meaning((mark,), "a number that marks the sublayers: its power counts how many a term passes through"),
        Meaning((shift,), "a constant added to all components"),
        Meaning((rate,), "a positive number"),
        Meaning((gain, offset), "gain and offset of a norm, one for each component or one for all"),
        Meaning((epsilon,), "the small number under the root of the norm, ε > 0 or ε = 0 where a step says so"),
        Meaning((N,), "the Jacobian of the norm at ε = 0"),
        Meaning((P,), "√v N, where v is the variance of the x"),
        Meaning((UNIT.name,), "the normalised vector at ε = 0, (x − μ)/√v"),
        Meaning((real("mu"), real("v")), "mean and variance of the components of x"),
        Meaning((real("I"),), "the identity matrix"),
    ),
    scope=Scope.INDUCTION,
    assumptions=(
        "A layer is x + f(x) for one token; pre-norm: f(LN(x)) in place of f(x); post-norm: LN(x + f(x)).",
        "In the steps on post-norm x is the vector that the norm receives, the sum of input and sublayer.",
        "LN is layer normalisation, with the divisor d and ε inside the root; 1 as a direction is the vector of ones.",
        "Gain and offset are left out unless a step shows them; at ε = 0 the variance is positive.",
    ),
    sources=(
        Source(
            "He et al. 2016, Identity Mappings in Deep Residual Networks, section 2",
            comment="the sum over layers and the term of the gradient that passes through none",
        ),
        Source(
            "Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, section 3",
            comment="the gradients of post-norm and pre-norm",
        ),
        Source(
            "Seed document 004, section Residual Connections",
            "introduces a direct gradient path that does not explode or vanish with depth",
            "an erratum: its layer is post-norm, which keeps no identity path, and where there is one the product of "
            "all layers may still explode or vanish",
        ),
    ),
    steps=KEPT + SIZE + PRE_NORM + POST_NORM + OUTPUTS,
    remarks=(
        "With several tokens x_i is a component of one of them and f may read all: the steps stay as they are, with N "
        "acting on each token alone.",
        "A decoder layer has three such sublayers, an encoder layer two; every one counts as a layer here.",
    ),
)
