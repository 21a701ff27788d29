"""LN(x) = (x − μ)/√(v + ε): its mean, variance, invariances and Jacobian, for any width."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Integer, KroneckerDelta, Rational, sqrt
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, real, size, up_to

d = size("d")
COMPONENTS = up_to(d)
i, k = index("i"), index("k")
x = array("x")
epsilon, factor, shift = positive("epsilon"), positive("alpha"), real("beta")
CONTEXT = Context(ranges={i: COMPONENTS, k: COMPONENTS})


def mean(vector: Entries) -> Expr:
    """μ = (1/d) Σ_l x_l."""
    return total(vector, "l", COMPONENTS) / d


def variance(vector: Entries) -> Expr:
    """V = (1/d) Σ_l (x_l − μ)², with the divisor d."""
    return total(lambda m: (vector(m) - mean(vector)) ** 2, "m", COMPONENTS) / d


def deviation(vector: Entries, place: Expr) -> Expr:
    """x_i − μ."""
    return vector(place) - mean(vector)


def normalised(vector: Entries, place: Expr, eps: Expr = epsilon) -> Expr:
    """(x_i − μ)/√(v + ε), before gain and offset."""
    return deviation(vector, place) / sqrt(variance(vector) + eps)


def affine(place: Expr) -> Expr:
    """The vector αx + β."""
    return factor * x[place] + shift


own = entry_of(x)
MEAN = Definition(real("mu"), lambda: mean(own))
VARIANCE = Definition(real("v"), lambda: variance(own))
OUTPUT = Definition(array("y"), lambda place: (x[place] - MEAN.name) / sqrt(VARIANCE.name + epsilon), (i,))


def jacobian_of(output: Entries, spread: Expr, row: Expr, column: Expr) -> Expr:
    """J = (I − 11ᵀ/d − yyᵀ/d)/√(v + ε) for an output y = LN(x) and a variance v."""
    centred = KroneckerDelta(row, column) - 1 / d
    return (centred - output(row) * output(column) / d) / sqrt(spread + epsilon)


def jacobian(row: Expr, column: Expr) -> Expr:
    """The Jacobian of LN in terms of x alone."""
    return jacobian_of(lambda place: normalised(own, place), variance(own), row, column)


def named_jacobian(row: Expr, column: Expr) -> Expr:
    """The same in terms of the names."""
    return jacobian_of(entry_of(OUTPUT.name), VARIANCE.name, row, column)


JACOBIAN = Definition(array("J"), named_jacobian, (i, k))
J, y = JACOBIAN.name, OUTPUT.name
NAMES = (OUTPUT, MEAN, VARIANCE)

STATISTICS = (
    Step(
        "Two forms of the variance",
        variance(own),
        total(lambda m: x[m] ** 2, "l", COMPONENTS) / d - mean(own) ** 2,
        "The variance is the mean square less the squared mean. In floating point only the first form is safe.",
        context=CONTEXT,
        optional=True,
    ),
    Step(
        "The output has mean 0",
        mean(lambda m: normalised(own, m)),
        Integer(0),
        "The deviations from a mean sum to 0.",
        context=CONTEXT,
    ),
    Step(
        "The output has variance v/(v + ε)",
        total(lambda m: normalised(own, m) ** 2, "i", COMPONENTS) / d,
        variance(own) / (variance(own) + epsilon),
        "The squared deviations sum to d v. So a vector whose variance is small against ε does not come out with the "
        "variance 1.",
        context=CONTEXT,
    ),
)

INVARIANCES = (
    Step(
        "Adding a constant to all components changes nothing",
        normalised(lambda m: x[m] + shift, i),
        normalised(own, i),
        "The mean grows by the constant too, so the deviations from it stay.",
        context=CONTEXT,
    ),
    Step(
        "Scaling by α is scaling ε by 1/α²",
        normalised(affine, i),
        normalised(own, i, epsilon / factor**2),
        "Deviations scale by α and the variance by α². At ε = 0 nothing changes: the output does not depend on the "
        "scale α > 0.",
        context=CONTEXT,
    ),
    Difference(
        "With ε > 0 scaling does change the output",
        normalised(own, i),
        normalised(lambda m: x[m] / 1000, i),
        "The vectors (1, 2, 3) and (1, 2, 3)/1000 with ε = 10⁻⁵: third component 1.22474 and 0.306186.",
        example=World(
            symbols={d: 3, i: 3, epsilon: Fraction(1, 100000)},
            arrays={(x, (m,)): m for m in (1, 2, 3)},
        ),
        values=("1.22474", "0.306186"),
        optional=True,
    ),
)

DERIVATIVE = (
    Step(
        "The Jacobian",
        Partial(y[i], x[k]),
        named_jacobian(i, k),
        "The mean has the derivative 1/d by x_k, and the variance 2 (x_k − μ)/d.",
        context=CONTEXT,
        where=NAMES,
    ),
    Step(
        "Every row of the Jacobian sums to 0",
        total(lambda m: J[i, m], "k", COMPONENTS),
        Integer(0),
        "Adding a constant to all components changes nothing, and this is the derivative of that fact.",
        context=CONTEXT,
        where=(JACOBIAN, *NAMES),
    ),
    Step(
        "The Jacobian nearly removes the centred input",
        total(lambda m: J[i, m] * (x[m] - MEAN.name), "k", COMPONENTS),
        epsilon * (x[i] - MEAN.name) / (VARIANCE.name + epsilon) ** Rational(3, 2),
        "This is the derivative of the step on scaling: it is proportional to ε, and 0 at ε = 0.",
        context=CONTEXT,
        where=(JACOBIAN, *NAMES),
    ),
)

DERIVATION = Derivation(
    id="layer_norm",
    title="What layer normalisation keeps and what it removes",
    opening=(
        "What does layer normalisation keep of a vector, and what does it remove? It removes the mean and nearly "
        "the scale, which makes training steady, and its derivative shows which directions of a gradient it stops."
    ),
    see_also=(
        "rms_norm",
        "residual",
        "normalisation_rounding",
    ),
    symbols=(
        Meaning((d,), "the width of the vector"),
        Meaning((x,), "the components of the vector"),
        Meaning((i, k), "numbers of components, from 1 to d"),
        Meaning((epsilon,), "the small number under the root, ε > 0"),
        Meaning((factor, shift), "a factor and a constant that change the input"),
        Meaning((MEAN.name, VARIANCE.name), "the mean of the components, and their variance with the divisor d"),
        Meaning((y,), "the output, LN(x)"),
        Meaning((J,), "the Jacobian: J_ik is the derivative of y_i by x_k"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "LN(x) = (x − μ)/√(v + ε): ε is added inside the root.",
        "Gain and offset are left out: they multiply LN(x) and are added to it.",
    ),
    sources=(
        Source(
            "Ba, Kiros & Hinton 2016, Layer Normalization, section 3 and equation 3",
            comment="mean and deviation over the components of one vector",
        ),
        Source(
            "Seed document 004, section Layer Normalisation",
            "is the standard deviation of the components",
            "divisor and ε are left open there",
        ),
    ),
    steps=STATISTICS + INVARIANCES + DERIVATIVE,
    remarks=(
        "In a post-norm residual layer the gradient passes through J, which has the directions 1 and x − μ (nearly) "
        "in its kernel: the residual path is not an identity there.",
    ),
)
