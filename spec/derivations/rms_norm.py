"""R(x) = x/√(q + ε) with q the mean square: its size, its symmetries, and the mean that it keeps."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Function, Integer, KroneckerDelta, Rational, sqrt
from veriformer.spec.derivations import layer_norm
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, real, size, up_to

d, B = layer_norm.d, size("B")
COMPONENTS = up_to(d)
i, k, b, other = layer_norm.i, layer_norm.k, index("b"), index("b'")
x, u, vectors = layer_norm.x, array("u"), array("X")
epsilon, factor, constant = positive("epsilon"), positive("alpha"), real("c")
pi = Function("pi", integer=True)
CONTEXT = Context(ranges={i: COMPONENTS})
OF_TWO = Context(ranges={i: COMPONENTS, k: COMPONENTS})
PERMUTED = Context(ranges={i: COMPONENTS}, bijections={pi: COMPONENTS})
OTHER_VECTOR = Context(
    ranges={b: up_to(B), other: up_to(B), i: COMPONENTS, k: COMPONENTS},
    facts={KroneckerDelta(b, other): Integer(0)},
)


def mean_square(vector: Entries) -> Expr:
    """The mean square q = (1/d) Σ_l x_l²."""
    return total(lambda m: vector(m) ** 2, "l", COMPONENTS) / d


def normalised(vector: Entries, place: Expr, eps: Expr = epsilon) -> Expr:
    """x_i/√(q + ε), before the gain."""
    return vector(place) / sqrt(mean_square(vector) + eps)


def product_with_u(vector: Entries) -> Expr:
    """⟨x, u⟩ / ⟨u, u⟩."""
    inner = total(lambda m: vector(m) * u[m], "m", COMPONENTS)
    return inner / total(lambda m: u[m] ** 2, "n", COMPONENTS)


def reflected(vector: Entries) -> Entries:
    """Return x − 2 ⟨x, u⟩/⟨u, u⟩ u, the mirror image of x in the plane to which u is perpendicular."""
    return lambda place: vector(place) - 2 * product_with_u(vector) * u[place]


def jacobian_of(vector: Entries, row: Expr, column: Expr, eps: Expr = epsilon) -> Expr:
    """J = (I − yyᵀ/d)/√(q + ε) of a vector, in terms of it alone."""
    outer = normalised(vector, row, eps) * normalised(vector, column, eps) / d
    return (KroneckerDelta(row, column) - outer) / sqrt(mean_square(vector) + eps)


own = entry_of(x)
SQUARE = Definition(real("q"), lambda: mean_square(own))
OUTPUT = Definition(array("y"), lambda place: x[place] / sqrt(SQUARE.name + epsilon), (i,))
y = OUTPUT.name
NAMES = (OUTPUT, SQUARE)


def named_jacobian(row: Expr, column: Expr) -> Expr:
    """The same in terms of the names."""
    return (KroneckerDelta(row, column) - y[row] * y[column] / d) / sqrt(SQUARE.name + epsilon)


JACOBIAN = Definition(array("J"), named_jacobian, (i, k))
J = JACOBIAN.name

SIZE = (
    Step(
        "The output has mean square q/(q + ε)",
        total(lambda m: normalised(own, m) ** 2, "i", COMPONENTS) / d,
        mean_square(own) / (mean_square(own) + epsilon),
        "The squares sum to d q. So a vector whose mean square is small against ε does not come out with the mean "
        "square 1.",
        context=CONTEXT,
    ),
    Step(
        "Scaling by α is scaling ε by 1/α²",
        normalised(lambda m: factor * x[m], i),
        normalised(own, i, epsilon / factor**2),
        "Components scale by α and the mean square by α². At ε = 0 nothing changes. In other words, scaling x by α "
        "and ε by α² together changes nothing.",
        context=CONTEXT,
    ),
    Difference(
        "With ε > 0 scaling does change the output",
        normalised(own, i),
        normalised(lambda m: x[m] / 1000, i),
        "The vectors (1, 2, 2) and (1, 2, 2)/1000 with ε = 10⁻⁵: third component 1.15470 and 0.554700.",
        example=World(
            symbols={d: 3, i: 3, epsilon: Fraction(1, 100000)},
            arrays={(x, (1,)): 1, (x, (2,)): 2, (x, (3,)): 2},
        ),
        values=("1.15470", "0.554700"),
        optional=True,
    ),
)

SYMMETRIES = (
    Step(
        "The operation is odd",
        written(lambda: normalised(lambda m: -x[m], i)),
        written(lambda: -normalised(own, i)),
        "A square does not depend on the sign. In particular the output of the zero vector is zero, since ε > 0.",
        context=CONTEXT,
    ),
    Step(
        "Permuting the components permutes the output",
        normalised(lambda m: x[pi(m)], i),
        normalised(own, pi(i)),
        "A mean may be taken in any order. With a gain, the gain is permuted too.",
        context=PERMUTED,
    ),
    Step(
        "A reflection keeps the mean square",
        mean_square(reflected(own)),
        mean_square(own),
        "The reflection takes 2 ⟨x, u⟩/⟨u, u⟩ u from x, where ⟨x, u⟩ is the inner product. In the squared length the "
        "mixed term is −4 ⟨x, u⟩²/⟨u, u⟩ and the square +4 ⟨x, u⟩²/⟨u, u⟩: they cancel.",
        context=CONTEXT,
    ),
    Step(
        "The operation commutes with reflections",
        normalised(reflected(own), i),
        normalised(own, i) - 2 * product_with_u(lambda m: normalised(own, m)) * u[i],
        "The divisor stays, and a reflection is linear. Every orthogonal matrix is a product of reflections, so this "
        "holds of all of them, as long as the gain is one number.",
        context=CONTEXT,
    ),
)

CENTRE = (
    Step(
        "A vector of equal components keeps them",
        normalised(lambda m: constant, i),
        constant / sqrt(constant**2 + epsilon),
        "Its mean square is c². Layer normalisation would give 0.",
        context=CONTEXT,
    ),
    Difference(
        "Adding a constant to all components does change the output",
        normalised(own, i),
        normalised(lambda m: x[m] + 1, i),
        "The vectors (1, 2, 2) and (2, 3, 3) with ε = 1: third component 1 and 1.0392.",
        example=World(
            symbols={d: 3, i: 3, epsilon: 1},
            arrays={(x, (1,)): 1, (x, (2,)): 2, (x, (3,)): 2},
        ),
        values=("1", "1.0392"),
        optional=True,
    ),
    Step(
        "On centred vectors it is layer normalisation",
        normalised(lambda m: x[m] - layer_norm.mean(own), i, layer_norm.epsilon),
        layer_norm.normalised(own, i),
        "The mean square of x − μ is the variance of x.",
        context=CONTEXT,
        optional=True,
    ),
    Step(
        "No dependence on another vector",
        Partial(normalised(lambda m: vectors[b, m], i), vectors[other, k]),
        Integer(0),
        "The derivative has the factor δ_bb', which is 0 for b ≠ b'.",
        context=OTHER_VECTOR,
    ),
)

DERIVATIVE = (
    Step(
        "The Jacobian",
        Partial(y[i], x[k]),
        named_jacobian(i, k),
        "The mean square has the derivative 2 x_k/d by x_k. Unlike that of layer normalisation, which takes the mean "
        "off too, this Jacobian is the identity less one projection.",
        context=OF_TWO,
        where=NAMES,
    ),
    Step(
        "The Jacobian nearly removes the input",
        total(lambda m: J[i, m] * x[m], "k", COMPONENTS),
        epsilon * x[i] / (SQUARE.name + epsilon) ** Rational(3, 2),
        "This is the derivative of the step on scaling: it is proportional to ε, and 0 at ε = 0.",
        context=OF_TWO,
        where=(JACOBIAN, *NAMES),
    ),
    Step(
        "Scaling x by α and ε by α² divides the Jacobian by α",
        jacobian_of(lambda m: factor * x[m], i, k, factor**2 * epsilon),
        jacobian_of(own, i, k) / factor,
        "The output stays and the divisor grows by α, so that gradients of large vectors are small.",
        context=OF_TWO,
    ),
)

DERIVATION = Derivation(
    id="rms_norm",
    title="What root-mean-square normalisation keeps and what it removes",
    opening=(
        "What does root-mean-square normalisation keep of a vector, and what does it remove? It removes the scale "
        "but keeps the direction and the mean, unlike layer normalisation, and treats all directions alike as long "
        "as its gain is one number."
    ),
    see_also=(
        "layer_norm",
        "normalisation_rounding",
    ),
    symbols=(
        Meaning((d,), "the width of the vector"),
        Meaning((x,), "the components of the vector"),
        Meaning((i, k), "numbers of components, from 1 to d"),
        Meaning((epsilon,), "the small number under the root, ε > 0"),
        Meaning((factor,), "a factor of the input"),
        Meaning((constant,), "the value of all components where they are equal"),
        Meaning((pi,), "a permutation of the components"),
        Meaning((u,), "the vector that is perpendicular to the plane of a reflection"),
        Meaning((vectors,), "several vectors; the first index is the vector"),
        Meaning((b, other), "the numbers of two different vectors"),
        Meaning((SQUARE.name,), "the mean of the squares of the components"),
        Meaning((y,), "the output"),
        Meaning((J,), "the Jacobian: J_ik is the derivative of y_i by x_k"),
        Meaning((real("mu"),), "the mean of the components"),
        Meaning((B,), "how many vectors there are"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The operation is x/√(q + ε): ε is added inside the root.",
        "The gain is left out: it multiplies the result, component by component.",
    ),
    sources=(
        Source(
            "Zhang & Sennrich 2019, Root Mean Square Layer Normalization, section 4",
            comment="the root mean square in place of the deviation; ε is an implementation's addition",
        ),
    ),
    steps=SIZE + SYMMETRIES + CENTRE + DERIVATIVE,
    remarks=(
        "With ε outside the root, x/(√q + ε), scaling by α is scaling ε by 1/α: the second step tells the two apart.",
    ),
)
