"""Schedules of learning rates: where a cosine begins and ends, its symmetry, and where a rise meets a root."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Integer, Rational, cos, pi, sin, sqrt
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.formulas import positive, real
from veriformer.spec.derivations.provers import TRIGONOMETRY

least, height, other_least, other_height = real("l"), positive("h"), real("l'"), positive("h'")
progress = real("x")
step, rest, peak = positive("t"), positive("r"), positive("P")
warmup, root = positive("W"), positive("s")


def decay(along: Expr, low: Expr = least, high: Expr = height) -> Expr:
    """L + h (1 + cos πx)/2."""
    return low + high * (1 + cos(pi * along)) / 2


COSINE = (
    Step(
        "The cosine begins at the peak",
        written(lambda: decay(Integer(0))),
        least + height,
        "The cosine of 0 is 1.",
    ),
    Step(
        "The cosine ends at the least rate",
        written(lambda: decay(Integer(1))),
        least,
        "The cosine of π is −1.",
    ),
    Step(
        "Two rates at the same distance from the middle sum to the peak and the least",
        decay(progress) + decay(1 - progress),
        2 * least + height,
        "cos(π − πx) = −cos πx: the cosines cancel.",
        prover=TRIGONOMETRY,
    ),
    Step(
        "The cosine is linear in its two rates",
        decay(progress, least + other_least, height + other_height),
        decay(progress) + decay(progress, other_least, other_height),
        "The cosine does not depend on the rates.",
    ),
    Inequality(
        "No cosine lies above its beginning",
        least + height,
        decay(progress),
        "1 − cos πx = 2 sin²(πx/2).",
        certificate=height * sin(pi * progress / 2) ** 2,
        prover=TRIGONOMETRY,
    ),
    Difference(
        "A straight line falls otherwise",
        decay(progress),
        least + height * (1 - progress),
        "From 1 to 0, a quarter of the way: 0.8536, and 0.75 on the straight line.",
        example=World(symbols={progress: Fraction(1, 4), least: 0, height: 1}),
        values=("0.8536", "0.75"),
        optional=True,
    ),
)

WARMUP = (
    Step(
        "The warm-up rises by the same at each step",
        peak * (step + 1) / warmup - peak * step / warmup,
        peak / warmup,
        "Where it starts at P/(W + 1), W + 1 takes the place of W and t + 1 that of t.",
    ),
    Inequality(
        "The warm-up stays below the peak",
        peak,
        peak * step / (step + rest),
        "W = t + r, r steps before the end of the warm-up.",
        certificate=peak * rest / (step + rest),
    ),
)

INVERSE_ROOT = (
    Step(
        "The rise and the root meet at the end of the warm-up",
        written(lambda: warmup * warmup ** Rational(-3, 2)),
        1 / sqrt(warmup),
        "The exponents add up: 1 − 3/2 = −1/2.",
    ),
    Inequality(
        "The root lies above the rise before they meet",
        1 / root,
        root**2 / (root + rest) ** 3,
        "√t = s and √W = s + r. The smaller of the two is the rise.",
        certificate=(3 * root**2 * rest + 3 * root * rest**2 + rest**3) / (root * (root + rest) ** 3),
    ),
    Inequality(
        "The rise lies above the root after they meet",
        (root + rest) ** 2 / root**3,
        1 / (root + rest),
        "√W = s and √t = s + r. The smaller of the two is the root, which does not depend on W.",
        certificate=(3 * root**2 * rest + 3 * root * rest**2 + rest**3) / (root**3 * (root + rest)),
    ),
    Step(
        "Four times the step has half the root",
        written(lambda: 1 / sqrt(4 * step)),
        1 / (2 * sqrt(step)),
        "The root of 4 is 2. The same holds for the root of the width.",
    ),
)

DERIVATION = Derivation(
    id="schedules",
    title="Schedules of learning rates: a rise that meets a cosine or a root at the peak",
    opening=(
        "Does the end of a warm-up meet the beginning of what follows? A schedule that jumps there, or that rises "
        "again at the end, trains without an error."
    ),
    symbols=(
        Meaning((least, height), "the least rate, and how far the peak is above it"),
        Meaning((other_least, other_height), "those of another schedule"),
        Meaning((progress,), "the share of the decay that is over"),
        Meaning((step, warmup), "the number of a step, and the number of steps of the warm-up"),
        Meaning((peak,), "the peak"),
        Meaning((root, rest), "the root of the smaller number of steps, and what is left to the larger one"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("The peak is not below the least rate.",),
    sources=(
        Source(
            "Loshchilov & Hutter 2017, SGDR: Stochastic Gradient Descent with Warm Restarts, equation 5",
            comment="the cosine, here without restarts",
        ),
        Source("Vaswani et al. 2017, Attention Is All You Need, section 5.3", comment="the inverse root"),
    ),
    steps=COSINE + WARMUP + INVERSE_ROOT,
)
