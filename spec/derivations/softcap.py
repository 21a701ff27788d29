"""The soft cap c tanh(z/c): bounded by c, nowhere steeper than one, and the identity for large c."""

from __future__ import annotations

from sympy import Expr, Integer, Symbol, exp, oo
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial
from veriformer.spec.derivations.formulas import positive, real
from veriformer.spec.derivations.gated_activations import hyperbolic_tangent
from veriformer.spec.derivations.inequalities import Inequality

z, t, bias, mask_value = real("z"), real("t"), real("b"), real("M")
cap, rest = positive("c"), positive("Z")
below, above = Symbol("s", nonnegative=True), Symbol("u", nonnegative=True)


def capped(logit: Expr) -> Expr:
    """Return c tanh(z/c)."""
    return cap * hyperbolic_tangent(logit / cap)


BOUNDS = (
    Inequality(
        "A capped logit does not exceed c",
        cap,
        cap * hyperbolic_tangent(t),
        "With z = c t: c − c tanh t = 2c / (e^(2t) + 1).",
        certificate=2 * cap / (exp(2 * t) + 1),
    ),
    Inequality(
        "A capped logit does not fall below −c",
        cap * hyperbolic_tangent(t),
        -cap,
        "c tanh t + c = 2c e^(2t) / (e^(2t) + 1).",
        certificate=2 * cap * exp(2 * t) / (exp(2 * t) + 1),
    ),
    Inequality(
        "So no weight exceeds another by more than e^(2c)",
        exp(2 * cap),
        exp((cap - below) - (-cap + above)),
        "Two capped logits are c − s and −c + u with s, u ≥ 0. The ratio of their weights is the exponential of their "
        "difference.",
        certificate=exp(2 * cap) * (1 - exp(-(below + above))),
    ),
    Step(
        "The cap is odd",
        cap * hyperbolic_tangent(-t),
        -cap * hyperbolic_tangent(t),
        "Multiply numerator and denominator by e^(2t).",
        optional=True,
    ),
)


def one_exponential(argument: Expr) -> Expr:
    """1 − 2/(e^(2t) + 1), which is tanh t."""
    return 1 - 2 / (exp(2 * argument) + 1)


SLOPE = (
    Step(
        "The hyperbolic tangent with one exponential",
        hyperbolic_tangent(t),
        one_exponential(t),
        "(e^(2t) − 1) / (e^(2t) + 1) = 1 − 2 / (e^(2t) + 1).",
    ),
    Step(
        "The slope",
        Partial(one_exponential(t), t),
        4 * exp(2 * t) / (exp(2 * t) + 1) ** 2,
        "The slope of c tanh(z/c) by z is that of tanh t at t = z/c.",
    ),
    Step(
        "The slope by the capped logit",
        1 - hyperbolic_tangent(t) ** 2,
        4 * exp(2 * t) / (exp(2 * t) + 1) ** 2,
        "So the slope is 1 − tanh² t: a backward pass can take it from what the forward pass returned.",
    ),
    Inequality(
        "The slope is at most one, so a cap enlarges no error",
        Integer(1),
        1 - hyperbolic_tangent(t) ** 2,
        "1 less the slope is a square.",
        certificate=hyperbolic_tangent(t) ** 2,
        optional=True,
    ),
    Inequality(
        "The slope is positive, so a cap keeps the order of logits",
        1 - hyperbolic_tangent(t) ** 2,
        Integer(0),
        "1 − tanh² t = 4 e^(2t) / (e^(2t) + 1)².",
        certificate=4 * exp(2 * t) / (exp(2 * t) + 1) ** 2,
        optional=True,
    ),
)

LIMITS = (
    Limit(
        "A large cap is none",
        capped(z),
        z,
        "tanh t = t − t³/3 + …, so c tanh(z/c) = z − z³/(3c²) + …, and all terms but z vanish as c grows.",
        variable=cap,
        point=oo,
    ),
    Limit(
        "Applied after the mask it would give a masked key weight",
        exp(capped(mask_value)) / (exp(capped(mask_value)) + rest),
        exp(-cap) / (exp(-cap) + rest),
        "The cap turns the logit −∞ of a masked key into −c; Z > 0 is the sum over the other keys.",
        variable=mask_value,
        point=-oo,
    ),
    Limit(
        "Applied before the mask it leaves a masked key the weight zero",
        exp(capped(z) + mask_value) / (exp(capped(z) + mask_value) + rest),
        Integer(0),
        "The mask is added to the capped logit.",
        variable=mask_value,
        point=-oo,
        example=World(symbols={z: 1, cap: 2, mask_value: -3, rest: 3}),
        value="0.0401",
    ),
    Difference(
        "A cap before the bias is not one after it",
        capped(z) + bias,
        capped(z + bias),
        "With z = 0, b = 1 and c = 1 the results are 1 and tanh 1.",
        example=World(symbols={z: 0, bias: 1, cap: 1}),
        values=("1", "0.76159"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="softcap",
    title="A soft cap bounds the logits by c and enlarges no difference",
    opening=(
        "What does a soft cap, which squeezes every logit into a range with the hyperbolic tangent, do to "
        "attention? It bounds the logits, enlarges no rounding error and changes little where logits are small, but "
        "only if it comes before the mask."
    ),
    see_also=(
        "gated_activations",
        "saturation",
    ),
    symbols=(
        Meaning((cap,), "the bound of the logits, c > 0"),
        Meaning((z,), "a logit"),
        Meaning((t,), "a real number, z/c"),
        Meaning((below, above), "how far two capped logits are from c and from −c"),
        Meaning((bias,), "a bias"),
        Meaning((mask_value,), "the entry of a mask, 0 or −∞"),
        Meaning((rest,), "the sum of the exponentials of the other keys, Z > 0"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("The logits are real numbers, already scaled.",),
    sources=(
        Source("Gemma Team 2024, Gemma 2, section 2", comment="logit soft-capping, c = 50 in attention"),
        Source("onnx/onnx#7867", comment="the reference applied the cap after the mask until 2026"),
    ),
    steps=BOUNDS + SLOPE + LIMITS,
    remarks=("A cap is not invariant under shifts: adding a constant to a row before it changes the weights.",),
)
