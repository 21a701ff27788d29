"""R(x) = x/√(q + ε) with q the mean square: its size, its symmetries, and the mean that it keeps."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Function, Integer, KroneckerDelta, sqrt
from veriformer.spec.derivations import layer_norm
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Scope, Source, Step
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


own = entry_of(x)

SIZE = (
    Step(
        "The output has mean square q/(q + ε)",
        total(lambda m: normalised(own, m) ** 2, "i", COMPONENTS) / d,
        mean_square(own) / (mean_square(own) + epsilon),
        "Σ x² = d q. So a vector whose mean square is small against ε is not brought to mean square 1.",
        context=CONTEXT,
    ),
    Step(
        "Scaling by α is scaling ε by 1/α²",
        normalised(lambda m: factor * x[m], i),
        normalised(own, i, epsilon / factor**2),
        "Components scale by α, the mean square by α². At ε = 0 nothing changes. Put α² ε for ε to read it as a "
        "statement about the operation: R(α x; α² ε) = R(x; ε).",
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
    ),
)

SYMMETRIES = (
    Step(
        "It is odd",
        written(lambda: normalised(lambda m: -x[m], i)),
        written(lambda: -normalised(own, i)),
        "Squares do not see the sign. In particular R(0) = 0, where ε > 0.",
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
        "|x − 2 ⟨x, u⟩/⟨u, u⟩ u|² = |x|² − 4 ⟨x, u⟩²/⟨u, u⟩ + 4 ⟨x, u⟩²/⟨u, u⟩.",
        context=CONTEXT,
    ),
    Step(
        "It commutes with reflections",
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
    ),
    Step(
        "On centred vectors it is layer normalisation",
        normalised(lambda m: x[m] - layer_norm.mean(own), i, layer_norm.epsilon),
        layer_norm.normalised(own, i),
        "The mean square of x − μ is the variance of x.",
        context=CONTEXT,
    ),
    Step(
        "No dependence on another vector",
        Partial(normalised(lambda m: vectors[b, m], i), vectors[other, k]),
        Integer(0),
        "The derivative carries δ_bb' = 0.",
        context=OTHER_VECTOR,
    ),
)

DERIVATION = Derivation(
    id="rms_norm",
    title="What root-mean-square normalisation keeps and what it removes",
    scope=Scope.SYMBOLIC,
    assumptions=(
        "q is the mean of the squares, and ε > 0 is added inside the root.",
        "The gain is left out: the output is γ ⊙ R(x) with the R of this derivation.",
    ),
    sources=(
        Source(
            "Zhang & Sennrich 2019, Root Mean Square Layer Normalization, section 4",
            comment="the root mean square in place of the deviation; ε is an implementation's addition",
        ),
    ),
    steps=SIZE + SYMMETRIES + CENTRE,
    remarks=(
        "With ε outside the root, x/(√q + ε), scaling by α is scaling ε by 1/α: the second step tells the two apart.",
    ),
)
