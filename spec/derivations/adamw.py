"""A step of AdamW: what equal gradients do to it, what the scale does not, and what the decay adds."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Integer, KroneckerDelta, sqrt
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial
from veriformer.spec.derivations.formulas import array, index, positive, real

g, m, v, p = real("g"), real("m"), positive("v"), real("p")
size = positive("a")
eta, decay, epsilon, factor = positive("eta"), positive("lambda"), positive("epsilon"), positive("alpha")
# The shares of the two moments that are lost, 1 − β, and what is left of the first value after t − 1 steps, βᵗ⁻¹.
beta, power = real("beta"), real("q")
beta_1, beta_2 = real("beta_1"), real("beta_2")
first_share, second_share = positive("c_1"), positive("c_2")
i, k = index("i"), index("k")
parameters, gradients, means, squares = array("P"), array("G"), array("M"), array("V")
kept_square, lost_square = positive("b_2"), positive("d_2")
OTHER_ENTRY = Context(facts={KroneckerDelta(i, k): Integer(0)})
STILL = Context(facts={gradients[i]: Integer(0), means[i]: Integer(0)})


def moment(share: Expr, old: Expr, new: Expr) -> Expr:
    """β old + (1 − β) new."""
    return share * old + (1 - share) * new


def update(mean: Expr, square: Expr, eps: Expr = epsilon) -> Expr:
    """(m/c₁) / (√(v/c₂) + ε)."""
    return mean / first_share / (sqrt(square / second_share) + eps)


def step_of(parameter: Expr, mean: Expr, square: Expr, rate: Expr = decay) -> Expr:
    """(1 − ηλ) p − η (m/c₁) / (√(v/c₂) + ε)."""
    return (1 - eta * rate) * parameter - eta * update(mean, square)


EQUAL_GRADIENTS = (
    Step(
        "Equal gradients leave their share of the first moment",
        moment(beta, (1 - power) * g, g),
        (1 - beta * power) * g,
        "If the moment was (1 − q) g, where q is β^(t−1), it is (1 − β q) g after the step, where β q is β^t. It is 0 "
        "before the first step, where q is 1: so it is (1 − β^t) g at every step t.",
    ),
    Step(
        "The corrected first moment of equal gradients is the gradient",
        moment(beta, (1 - power) * g, g) / (1 - beta * power),
        g,
        "This is the step before, divided by 1 − β^t.",
    ),
    Step(
        "The corrected second moment of equal gradients is the square",
        moment(beta, (1 - power) * g**2, g**2) / (1 - beta * power),
        g**2,
        "The same with g² in place of g. Its root is |g|, so that every step is η g/(|g| + ε).",
    ),
    Step(
        "The first step is that of the sign",
        written(lambda: update(first_share * size, second_share * size**2)),
        size / (size + epsilon),
        "At t = 1 the moments of a gradient a > 0 are (1 − β_1) a and (1 − β_2) a², and those shares are divided by. "
        "The update is odd, so that a negative gradient has the opposite one.",
    ),
    Inequality(
        "No first step is longer than the learning rate",
        Integer(1),
        size / (size + epsilon),
        "The rest is the part of ε in a + ε.",
        certificate=epsilon / (size + epsilon),
    ),
    Difference(
        "Without the correction the first step has another length",
        size / (size + epsilon),
        (1 - beta_1) * size / (sqrt((1 - beta_2) * size**2) + epsilon),
        "With β_1 = 0.9 and β_2 = 0.999 it is 0.1/√0.001 times as long, three times: a = 1 and ε = 0.001.",
        example=World(
            symbols={
                size: 1,
                epsilon: Fraction(1, 1000),
                beta_1: Fraction(9, 10),
                beta_2: Fraction(999, 1000),
            }
        ),
        values=("0.99900", "3.0653"),
        optional=True,
    ),
)

SYMMETRIES = (
    Step(
        "The scale of the gradients cancels",
        update(factor * m, factor**2 * v, factor * epsilon),
        update(m, v),
        "Numerator and denominator have the factor α, where ε has it too.",
    ),
    Step(
        "The update is odd",
        written(lambda: update(-m, v)),
        written(lambda: -update(m, v)),
        "The denominator holds a square, which does not change its sign with the gradient.",
    ),
    Step(
        "No dependence on another entry",
        Partial(
            step_of(
                parameters[i],
                moment(beta_1, means[i], gradients[i]),
                kept_square * squares[i] ** 2 + lost_square * gradients[i] ** 2,
            ),
            gradients[k],
        ),
        Integer(0),
        "The derivative has the factor δ_ik, which is 0 for i ≠ k; those by the other arguments have it too.",
        context=OTHER_ENTRY,
    ),
)

DECAY = (
    Step(
        "The decay is added to the update",
        step_of(p, m, v) - step_of(p, m, v, Integer(0)),
        -eta * decay * p,
        "The update has no λ in it.",
    ),
    Step(
        "Without gradients only the decay is left",
        step_of(parameters[i], moment(beta_1, means[i], gradients[i]), v),
        (1 - eta * decay) * parameters[i],
        "The first moment stays 0, and so does its quotient, since ε > 0.",
        context=STILL,
    ),
    Step(
        "The moments do not depend on the parameter",
        Partial(moment(beta_1, means[i], gradients[i]), parameters[k]),
        Integer(0),
        "Neither p nor λ occurs in them.",
    ),
    Difference(
        "Decay that goes through the moments depends on the gradient",
        eta * decay * p + eta * g / (g + epsilon),
        eta * (g + decay * p) / (g + decay * p + epsilon),
        "At the first step, with a gradient of 3 and p = 2, η = λ = 1/2 and ε = 1: 0.875, and 0.4 where λ p is added "
        "to the gradient.",
        example=World(symbols={g: 3, p: 2, eta: Fraction(1, 2), decay: Fraction(1, 2), epsilon: 1}),
        values=("0.875", "0.4"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="adamw",
    title="AdamW: equal gradients give equal steps, their scale cancels, and decay stays apart",
    opening=(
        "How long is a step of AdamW, and what does weight decay add to it? A step with the wrong correction, or with "
        "a decay that goes through the moments, still trains, only to something else."
    ),
    symbols=(
        Meaning((g, size), "a gradient, and a positive one"),
        Meaning((m, v), "the first and the second moment after the step"),
        Meaning((p,), "the parameter before the step"),
        Meaning((eta,), "the learning rate η"),
        Meaning((decay,), "the weight decay λ"),
        Meaning((epsilon,), "the small number that is added to the root, ε > 0"),
        Meaning((beta, beta_1, beta_2), "the share of a moment that stays, and those of the first and second moment"),
        Meaning((power,), "β^(t−1), the share that is left of a moment's first value after t − 1 steps"),
        Meaning((first_share, second_share), "the corrections 1 − β^t of the two moments"),
        Meaning((factor,), "a factor of all gradients"),
        Meaning((i, k), "the numbers of two entries"),
        Meaning((parameters, gradients, means), "all parameters, gradients and first moments before the step"),
        Meaning((squares,), "the roots of all second moments before the step"),
        Meaning((kept_square, lost_square), "β_2 and 1 − β_2"),
        Meaning((real("t"),), "the number of the step, counted from 1"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Both moments are 0 before the first step.",
        "ε is added after the correction; where it is added before, it stands for ε/√c_2.",
        "The share of the parameter that decays is ηλ.",
    ),
    sources=(
        Source(
            "Kingma & Ba 2015, Adam: A Method for Stochastic Optimization, sections 2.1 and 3",
            comment="the bound of the step by the learning rate, its independence of the scale, and the correction",
        ),
        Source(
            "Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization, algorithm 2",
            comment="decay apart from the update",
        ),
    ),
    steps=EQUAL_GRADIENTS + SYMMETRIES + DECAY,
)
