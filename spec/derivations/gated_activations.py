"""GELU and SiLU are x times a gate, and the gates of x and −x sum to one."""

from __future__ import annotations

from sympy import Expr, Integer, Rational, erf, exp, oo, pi, sqrt
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial
from veriformer.spec.derivations.formulas import positive, real
from veriformer.spec.derivations.inequalities import Inequality

x, s, t = real("x"), real("s"), real("t")
above = positive("x")
beta = positive("beta")
slope, cubic = real("a"), real("c")


def logistic(argument: Expr) -> Expr:
    """σ(s) = 1/(1 + e^(−s))."""
    return 1 / (1 + exp(-argument))


def hyperbolic_tangent(argument: Expr) -> Expr:
    """Tanh t = (e^(2t) − 1)/(e^(2t) + 1)."""
    return (exp(2 * argument) - 1) / (exp(2 * argument) + 1)


def normal(argument: Expr) -> Expr:
    """Φ(x) = (1 + erf(x/√2))/2."""
    return (1 + erf(argument / sqrt(2))) / 2


def swish(argument: Expr) -> Expr:
    """Return x σ(β x): SiLU at β = 1, the sigmoid form of GELU at β = 1.702."""
    return argument * logistic(beta * argument)


def gelu(argument: Expr) -> Expr:
    """Return x Φ(x)."""
    return argument * normal(argument)


def slope_of_swish(argument: Expr) -> Expr:
    """Return the derivative of x σ(β x)."""
    return logistic(beta * argument) + beta * argument * exp(-beta * argument) * logistic(beta * argument) ** 2


def product_rule(argument: Expr) -> Expr:
    """Return the same derivative in terms of both gates, σ(β x) + β x σ(β x) σ(−β x)."""
    gate, other = logistic(beta * argument), logistic(-beta * argument)
    return gate + beta * argument * gate * other


def slope_of_gelu(argument: Expr) -> Expr:
    """Return the derivative of x Φ(x)."""
    return normal(argument) + argument * exp(-(argument**2) / 2) / sqrt(2 * pi)


def cubic_in(argument: Expr) -> Expr:
    """Return z = a x + c x³."""
    return slope * argument + cubic * argument**3


GATES = (
    Step(
        "The logistic gates of s and −s sum to one",
        logistic(s) + logistic(-s),
        Integer(1),
        "Multiply the second fraction by e^(−s)/e^(−s).",
    ),
    Step(
        "The tanh gate is a logistic one",
        (1 + hyperbolic_tangent(t)) / 2,
        logistic(2 * t),
        "Divide by e^(2t). So the tanh form of GELU is x σ(2t) with t = √(2/π) (x + 0.044715 x³), which is odd in x.",
    ),
    Step(
        "x σ(β x): the results at x and −x differ by x",
        swish(x) - swish(-x),
        x,
        "x (σ(β x) + σ(−β x)) = x. The same holds with any odd function of x as the argument of σ.",
    ),
    Step(
        "x Φ(x): the results at x and −x differ by x",
        gelu(x) - gelu(-x),
        x,
        "erf is odd, being the integral of an even function from 0: Φ(x) + Φ(−x) = 1.",
    ),
)

BOUNDS = (
    Inequality(
        "The gate is not negative, so the result has the sign of the input",
        swish(above),
        Integer(0),
        "For x > 0 it is a product of positive numbers. By the reflection, the result at −x is −(x − f(x)), which the "
        "next step bounds.",
        certificate=swish(above),
    ),
    Inequality(
        "The gate is not above one, so the result does not go beyond the input",
        above,
        swish(above),
        "1 − σ(s) = e^(−s)/(1 + e^(−s)). Zero stays zero: it is a multiple of the entry.",
        certificate=above * exp(-beta * above) / (1 + exp(-beta * above)),
    ),
    Step(
        "The derivative of x σ(β x)",
        Partial(swish(x), x),
        slope_of_swish(x),
        "The product rule; the derivative of σ is σ (1 − σ).",
    ),
    Inequality(
        "x σ(β x) increases for positive x",
        Partial(swish(above), above),
        Integer(0),
        "Both terms of the derivative are positive at x > 0.",
        certificate=logistic(beta * above) + beta * above * exp(-beta * above) * logistic(beta * above) ** 2,
    ),
    Inequality(
        "The gate Φ is not negative either",
        gelu(above),
        Integer(0),
        "erf t ≥ 0 for t ≥ 0. By the reflection, the result at −x is −(x − f(x)), which the next step bounds.",
        certificate=gelu(above),
    ),
    Inequality(
        "The gate Φ is not above one either",
        above,
        gelu(above),
        "1 − Φ(x) = (1 − erf(x/√2))/2, and erf t ≤ 1.",
        certificate=above * (1 - erf(above / sqrt(2))) / 2,
    ),
    Step(
        "The derivative of x Φ(x)",
        Partial(gelu(x), x),
        slope_of_gelu(x),
        "The product rule; the derivative of Φ is the normal density.",
    ),
    Inequality(
        "x Φ(x) increases for positive x",
        Partial(gelu(above), above),
        Integer(0),
        "Both terms are positive at x > 0.",
        certificate=normal(above) + above * exp(-(above**2) / 2) / sqrt(2 * pi),
    ),
    Difference(
        "x σ(x) does not increase everywhere",
        2 * x * logistic(2 * x),
        x * logistic(x),
        "SiLU at −4 is −0.0719 and at −2 it is −0.2384: below its minimum near −1.278 it falls.",
        example=World(symbols={x: -2}),
        values=("-0.0719", "-0.2384"),
        optional=True,
    ),
)

TAILS = (
    Limit(
        "x σ(x) vanishes on the left",
        x * logistic(x),
        Integer(0),
        "As x → −∞, e^(−x) grows faster than −x.",
        variable=x,
        point=-oo,
    ),
    Limit(
        "x σ(x) becomes x on the right",
        x * logistic(x) - x,
        Integer(0),
        "By the reflection this is the limit on the left.",
        variable=x,
        point=oo,
        example=World(symbols={x: 2}),
        value="-0.2384",
    ),
    Limit(
        "x Φ(x) vanishes on the left",
        gelu(x),
        Integer(0),
        "As x → −∞, 1 + erf(x/√2) falls faster than e^(−x²/2).",
        variable=x,
        point=-oo,
    ),
    Limit(
        "x Φ(x) becomes x on the right",
        gelu(x) - x,
        Integer(0),
        "By the reflection this is the limit on the left.",
        variable=x,
        point=oo,
    ),
)

SLOPES = (
    Step(
        "The derivative of x σ(z(x))",
        Partial(x * logistic(cubic_in(x)), x),
        logistic(cubic_in(x)) + x * (slope + 3 * cubic * x**2) * exp(-cubic_in(x)) * logistic(cubic_in(x)) ** 2,
        "The product and the chain rule. With z = √(8/π) (x + 0.044715 x³) this is the tanh form of GELU.",
    ),
    Step(
        "The slope of the logistic gate is even",
        exp(-s) * logistic(s) ** 2,
        logistic(s) * logistic(-s),
        "Multiply one of the factors by e^(−s)/e^(−s). The right side is the same for s and −s.",
    ),
    Step(
        "The derivatives of x σ(β x) at x and −x sum to one",
        product_rule(x) + product_rule(-x),
        Integer(1),
        "With the last step f′ = σ(β x) + β x σ(β x) σ(−β x), whose second term is odd. It is f(x) − f(−x) = x, "
        "differentiated, and holds for the tanh form as well.",
    ),
    Step(
        "The derivatives of x Φ(x) at x and −x sum to one",
        Partial(gelu(x) - gelu(-x), x),
        Integer(1),
        "The same.",
    ),
    Limit(
        "The derivative of x σ(x) at zero is one half",
        slope_of_swish(x).subs(beta, 1),
        Rational(1, 2),
        "The gate is 1/2 there, and its slope has the factor x, whatever β is. The derivative is continuous.",
        variable=x,
        point=Integer(0),
    ),
    Limit(
        "The derivative of x Φ(x) at zero is one half",
        slope_of_gelu(x),
        Rational(1, 2),
        "The same.",
        variable=x,
        point=Integer(0),
    ),
    Difference(
        "The gate alone is not the derivative",
        slope_of_swish(x).subs(beta, 1),
        logistic(x),
        "At 1 the derivative of SiLU is 0.9277 and the gate 0.7311. A program that detaches the gate returns the gate.",
        example=World(symbols={x: 1}),
        values=("0.9277", "0.7311"),
        optional=True,
    ),
)

SLOPES_FAR_FROM_ZERO = (
    Limit(
        "The derivative of x σ(x) vanishes on the left",
        slope_of_swish(x).subs(beta, 1),
        Integer(0),
        "e^x falls faster than x grows.",
        variable=x,
        point=-oo,
    ),
    Limit(
        "The derivative of x σ(x) becomes one on the right",
        slope_of_swish(x).subs(beta, 1),
        Integer(1),
        "By the reflection of derivatives this is the limit on the left.",
        variable=x,
        point=oo,
    ),
    Limit(
        "The derivative of x Φ(x) vanishes on the left",
        slope_of_gelu(x),
        Integer(0),
        "x e^(−x²/2) vanishes too.",
        variable=x,
        point=-oo,
    ),
    Limit(
        "The derivative of x Φ(x) becomes one on the right",
        slope_of_gelu(x),
        Integer(1),
        "By the reflection of derivatives.",
        variable=x,
        point=oo,
    ),
)

DERIVATION = Derivation(
    id="gated_activations",
    title="GELU and SiLU are the input times a gate, and the gates of x and −x sum to one",
    opening=(
        "What do GELU and SiLU have in common, beyond the values of their formulas? Each is its input times a gate "
        "between 0 and 1 whose value at the opposite input completes it to 1, so a wrong factor, sign or "
        "approximation shows without knowing any value."
    ),
    see_also=(
        "feed_forward",
        "softcap",
    ),
    symbols=(
        Meaning((x,), "the input, a real number; in the bounds a positive one"),
        Meaning((s, t), "real numbers"),
        Meaning((beta,), "the factor of the argument of the logistic gate, β > 0"),
        Meaning((slope, cubic), "the factors of x and x³ in the argument of a logistic gate"),
        Meaning((real("z"),), "the argument of a logistic gate as a function of x, z(x) = a x + c x³"),
        Meaning((real("sigma"),), "the logistic gate: σ(s) = 1/(1 + e^(−s))"),
        Meaning((real("Phi"),), "the gate of GELU: Φ(x) = (1 + erf(x/√2))/2"),
        Meaning((real("f"),), "the result: x σ(β x) or x Φ(x)"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "SiLU is x σ(β x) with β = 1, and the sigmoid form of GELU has β = 1.702.",
        "GELU is x Φ(x). Φ is the distribution function of a standard normal number: it increases from 0 to 1.",
    ),
    sources=(
        Source(
            "Hendrycks & Gimpel 2016, Gaussian Error Linear Units, section 2",
            comment="both functions, and both approximations of GELU",
        ),
        Source("Ramachandran et al. 2017, Searching for Activation Functions", comment="x σ(β x), called Swish"),
    ),
    steps=GATES + BOUNDS + TAILS + SLOPES + SLOPES_FAR_FROM_ZERO,
    remarks=(
        "A missing factor x, 0.5 (1 + tanh t), leaves one half at zero and violates the reflection.",
        "The erf and tanh forms obey the same laws and differ by up to 4.7·10⁻⁴: only their values tell them apart.",
    ),
)
