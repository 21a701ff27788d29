"""Examples of gradients whose numbers are all rational, to be followed with a pencil."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Vector, dot, softmax, vector
from veriformer.spec.worked_examples.example import Execution, WorkedExample, own_example

# Their exponentials are 1, 2 and 3, so that the weights are 1/6, 1/3 and 1/2.
_LOGITS = (sympy.Integer(0), sympy.log(2), sympy.log(3))
_GRADIENT = vector("6 3 0")


def _through_softmax(logits: Vector, gradient: Vector) -> Vector:
    weights = tuple(sympy.nsimplify(weight) for weight in softmax(logits))
    average = dot(weights, gradient)
    return tuple(weight * (entry - average) for weight, entry in zip(weights, gradient, strict=True))


EXAMPLES: tuple[WorkedExample, ...] = (
    own_example(
        "gradients.softmax_of_three",
        "The gradient of a softmax of three",
        "The logits (0, ln 2, ln 3) have the weights (1/6, 1/3, 1/2). Their gradient is (6, 3, 0).",
        Execution("softmax_backward", {"x": _LOGITS, "grad_output": _GRADIENT}, _through_softmax(_LOGITS, _GRADIENT)),
        "The average by the weights is 6/6 + 3/3 + 0 = 2. Each weight times its distance from that: 4/6, 1/3 and −2/2. "
        "They sum to 0.",
    ),
)
