"""Examples of training whose numbers are all rational, to be followed with a pencil."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Vector, vector
from veriformer.spec.worked_examples.example import Execution, WorkedExample, own_example
from veriformer.spec.worked_examples.verdict import Verdict

_PARAMETERS, _GRADIENTS, _NOTHING = vector("1 -2"), vector("3 -1/2"), vector("0 0")
_RATE, _DECAY, _EPS = sympy.Rational(1, 10), sympy.Rational(1, 2), sympy.Integer(1)
_BETA1, _BETA2 = sympy.Rational(9, 10), sympy.Rational(99, 100)


def _first_step(parameters: Vector, gradients: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the parameters and their moments after the first step of AdamW, from moments of zero."""
    first = tuple((1 - _BETA1) * entry for entry in gradients)
    second = tuple((1 - _BETA2) * entry**2 for entry in gradients)
    moved = tuple(
        old * (1 - _RATE * _DECAY) - _RATE * (mean / (1 - _BETA1)) / (sympy.sqrt(square / (1 - _BETA2)) + _EPS)
        for old, mean, square in zip(parameters, first, second, strict=True)
    )
    return moved, first, second


_THREE_AND_FOUR = tuple(vector(text) for text in ("3", "4"))


def _clipped(gradients: tuple[Vector, ...], bound: sympy.Expr) -> tuple[Vector, ...]:
    """Return gradients that exceed the bound, clipped to it."""
    norm = sympy.sqrt(sympy.Add(*(entry**2 for array in gradients for entry in array)))
    return tuple(tuple(entry * bound / norm for entry in array) for array in gradients)


def _cosine_rate(step: int) -> sympy.Expr:
    """Return the rate of a step of the cosine from 1 to 1/5, of steps 4 to 10."""
    least = sympy.Rational(1, 5)
    return least + (1 - least) * (1 + sympy.cos(sympy.pi * sympy.Rational(step - 4, 6))) / 2


def _root_rate(step: int) -> sympy.Expr:
    """Return the rate of a step, of a model of width 4 with a warm-up of 4 steps."""
    exact = sympy.Integer(step)
    return sympy.Min(1 / sympy.sqrt(exact), exact / sympy.Integer(4) ** sympy.Rational(3, 2)) / 2


def _cosine(step: int, rate: sympy.Expr, conventions: Mapping[str, str]) -> Execution:
    rates = {"peak": sympy.Integer(1), "least": sympy.Rational(1, 5)}
    arguments = {"step": step, **rates, "warmup_steps": 4, "total_steps": 10}
    return Execution("warmup_cosine_learning_rate", arguments, rate, conventions)


def _root(step: int) -> Execution:
    arguments = {"step": step, "d_model": 4, "warmup_steps": 4}
    return Execution("warmup_inverse_root_learning_rate", arguments, _root_rate(step))


_ENTRIES, _DROPPED = vector("1 -2 3"), sympy.Rational(1, 4)


def _over_all_masks(entries: Vector, rate: sympy.Expr) -> tuple[Vector, Vector]:
    """Return the mean and the variance of what dropout makes of entries, by the probability of each mask."""
    outcomes = []
    for mask in product((0, 1), repeat=len(entries)):
        probability = sympy.Mul(*(1 - rate if kept else rate for kept in mask))
        outcomes.append((probability, tuple(x * m / (1 - rate) for x, m in zip(entries, mask, strict=True))))
    places = range(len(entries))
    means = tuple(sympy.Add(*(chance * result[at] for chance, result in outcomes)) for at in places)
    squares = tuple(sympy.Add(*(chance * result[at] ** 2 for chance, result in outcomes)) for at in places)
    return means, tuple(square - mean**2 for square, mean in zip(squares, means, strict=True))


EXAMPLES: tuple[WorkedExample, ...] = (
    own_example(
        "training.adamw_of_two",
        "The first step of AdamW for two parameters",
        "The parameters are (1, −2) and their gradients (3, −1/2); the moments are 0. The learning rate is 1/10, the "
        "weight decay 1/2, β₁ = 9/10, β₂ = 99/100, and eps = 1, so large that it can be followed by hand.",
        Execution(
            "adamw_step",
            {
                "parameter": _PARAMETERS,
                "gradient": _GRADIENTS,
                "first_moment": _NOTHING,
                "second_moment": _NOTHING,
                "step": 1,
                "learning_rate": _RATE,
                "beta1": _BETA1,
                "beta2": _BETA2,
                "eps": _EPS,
                "weight_decay": _DECAY,
            },
            _first_step(_PARAMETERS, _GRADIENTS),
            {"adamw_eps": "after_correction", "adamw_decay": "times_learning_rate"},
        ),
        "Corrected, the first moment is the gradient and the root of the second its magnitude. So the parameters "
        "lose 1/20 of themselves, and 1/10 of 3/4 and of −1/3: they become 7/8 and −28/15.",
    ),
    own_example(
        "training.clipping_of_two_arrays",
        "Clipping two gradients of one entry each",
        "One gradient is 3 and the other 4; together they may have the norm 1.",
        Execution(
            "clip_by_global_norm",
            {"gradients": _THREE_AND_FOUR, "max_norm": sympy.Integer(1)},
            _clipped(_THREE_AND_FOUR, sympy.Integer(1)),
            {"clip_norm_eps": "none"},
        ),
        "The norm is √(9 + 16) = 5, so that both are divided by 5. Clipped each by its own norm, both would be 1, and "
        "the step would point elsewhere.",
    ),
    own_example(
        "training.warmup_of_four_steps",
        "The rate of a step in a warm-up",
        "The rate rises to the peak of 1 in 4 steps, and falls to 1/5 up to step 10. What is it at step 1?",
        _cosine(1, sympy.Rational(1, 4), {"warmup_start": "zero"}),
        "It rises by 1/4 at each step, from 0 at step 0; the least rate has no part in it.",
    ),
    own_example(
        "training.cosine_of_six_steps",
        "The rate of a step on the cosine",
        "The rate rises to the peak of 1 in 4 steps, and falls to 1/5 up to step 10. What is it at step 6?",
        _cosine(6, _cosine_rate(6), {}),
        "Two of six steps of the cosine are over, so that it is cos(π/3) = 1/2, and half of 1 + 1/2 is 3/4. Of the "
        "height 4/5 this is 3/5, above 1/5.",
    ),
    own_example(
        "training.inverse_root_rising",
        "The first rate of the inverse root",
        "The width of the model is 4, and the warm-up has 4 steps. What is the rate at step 1?",
        _root(1),
        "The rise, 1/8, is smaller than the root, 1. Half of it is taken, since the root of the width is 2.",
    ),
    own_example(
        "training.inverse_root_falling",
        "The rate of the inverse root after the warm-up",
        "The width of the model is 4, and the warm-up has 4 steps. What is the rate at step 16?",
        _root(16),
        "The root, 1/4, is smaller than the rise, 2. At the end of the warm-up, four times as early, the rate was 1/4.",
    ),
    WorkedExample(
        id="training.dropout_of_three",
        document="",
        line=0,
        title="Mean and variance of three entries after dropout",
        fragment="The entries are (1, −2, 3), and each is dropped with probability 1/4: there are eight masks. An "
        "entry that is kept is divided by 3/4. What are the mean and the variance of each result?",
        printed=None,
        exact=_over_all_masks(_ENTRIES, _DROPPED),
        verdict=Verdict.NOT_GIVEN,
        note="A result is 4/3 of its entry with probability 3/4, and else 0. Its mean is the entry itself, and its "
        "variance a third of the square of the entry: p/(1 − p) = (1/4)/(3/4).",
    ),
)
