"""Examples of training whose numbers are all rational, to be followed with a pencil."""

from __future__ import annotations

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
