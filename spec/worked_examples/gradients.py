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


# With eps = 1/3 the variance 2/3 becomes 1, and so does its root.
_COMPONENTS, _GAIN, _SHIFT, _EPS = vector("1 2 3"), vector("1 2 1"), vector("0 0 0"), sympy.Rational(1, 3)
_OF_OUTPUTS = vector("3 3 0")


def _through_layer_norm(
    x: Vector, gain: Vector, gradient: Vector, eps: sympy.Expr
) -> tuple[tuple[Vector], Vector, Vector]:
    """Return the gradients of one vector, of the gain and of the shift."""
    width = sympy.Integer(len(x))
    centred = tuple(entry - sympy.Add(*x) / width for entry in x)
    divisor = sympy.sqrt(dot(centred, centred) / width + eps)
    normalised = tuple(entry / divisor for entry in centred)
    scaled = tuple(a * b for a, b in zip(gain, gradient, strict=True))
    mean, along = sympy.Add(*scaled) / width, dot(scaled, normalised) / width
    of_x = tuple((h - mean - y * along) / divisor for h, y in zip(scaled, normalised, strict=True))
    return (of_x,), tuple(g * y for g, y in zip(gradient, normalised, strict=True)), gradient


EXAMPLES: tuple[WorkedExample, ...] = (
    own_example(
        "gradients.softmax_of_three",
        "The gradient of a softmax of three",
        "The logits (0, ln 2, ln 3) have the weights (1/6, 1/3, 1/2). Their gradient is (6, 3, 0).",
        Execution("softmax_backward", {"x": _LOGITS, "grad_output": _GRADIENT}, _through_softmax(_LOGITS, _GRADIENT)),
        "The average by the weights is 6/6 + 3/3 + 0 = 2. Each weight times its distance from that: 4/6, 1/3 and −2/2. "
        "They sum to 0.",
    ),
    own_example(
        "gradients.layer_norm_of_three",
        "The gradients of a layer normalisation of three",
        "x = (1, 2, 3) has the mean 2 and the variance 2/3, so that with eps = 1/3 the divisor is 1 and the normalised "
        "vector ŷ = (−1, 0, 1). The gain is (1, 2, 1), and the gradient of the output is (3, 3, 0).",
        Execution(
            "layer_norm_backward",
            {"x": (_COMPONENTS,), "gamma": _GAIN, "beta": _SHIFT, "grad_output": (_OF_OUTPUTS,), "eps": _EPS},
            _through_layer_norm(_COMPONENTS, _GAIN, _OF_OUTPUTS, _EPS),
            {"layer_norm_eps": "inside_root"},
        ),
        "Gain times gradient is g = (3, 6, 0), of mean 3, and the mean of g ŷ is −1. So the gradient of x is "
        "g − 3 + ŷ = (−1, 3, −2), which sums to 0; that of the gain is (−3, 0, 0), and that of the shift (3, 3, 0).",
    ),
)
