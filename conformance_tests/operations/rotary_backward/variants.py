"""The family of the gradient of rotary embeddings: that of the embedding, which turns the gradient the other way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.rotary.variants.formula import ROTARY
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

# What the first and the second component of a pair get from their partner, and the functions of the angle.
TURN = Decision(
    "turn",
    "Which way, and how, is the gradient of a pair turned?",
    (
        standard("back", lambda cos, sin: (cos, sin, 1.0, -1.0)),
        mistake("rotary_backward_turned_forward", lambda cos, sin: (cos, sin, -1.0, 1.0)),
        mistake("rotary_backward_minus_missing", lambda cos, sin: (cos, sin, 1.0, 1.0)),
        neighbour(
            "minus_twice",
            lambda cos, sin: (cos, sin, -1.0, -1.0),
            "both sines have a minus: gradients of pairs are mixed, not turned",
        ),
        neighbour(
            "sine_and_cosine_exchanged",
            lambda cos, sin: (sin, cos, 1.0, -1.0),
            "the sine stands where the cosine belongs, and the converse",
        ),
        neighbour(
            "partner_ignored",
            lambda cos, sin: (cos, sin, 0.0, 0.0),
            "gradients are multiplied by the cosine only, as if components did not reach their partners",
        ),
    ),
)

# Of the gradient and the vectors.
TURNED_ARRAY = Decision(
    "turned_array",
    "What is turned back?",
    (
        standard("gradient", lambda gradient, x: gradient),
        mistake("rotary_backward_turns_vectors", lambda gradient, x: x),
        neighbour("product", lambda gradient, x: gradient * x, "the product of the gradient and the vectors is turned"),
    ),
)

# Of what was turned back, the gradient, and how many components turn.
REST = Decision(
    "rest",
    "What gradient have components that do not turn?",
    (
        standard("their_own", lambda turned, gradient, count: turned),
        mistake(
            "rotary_backward_rest_without_gradient",
            lambda turned, gradient, count: np.where(np.arange(turned.shape[-1]) < count, turned, 0.0),
        ),
    ),
)

PASSED = Decision(
    "passed",
    "Does the gradient pass the rotation?",
    (
        standard("turned", lambda turned, gradient: turned),
        mistake("rotary_gradient_cut", lambda turned, gradient: np.zeros_like(turned)),
        mistake("rotary_gradient_not_turned", lambda turned, gradient: gradient),
    ),
)


def rotary_embedding_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of rotary embeddings at a point of the family, of the shape of x."""
    x, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "grad_output"))
    turned = ROTARY.compute({**arguments, "x": point["turned_array"](gradient, x)}, point)
    given = arguments.get("rotary_dim")
    result = point["rest"](turned, gradient, x.shape[-1] if given is None else given)
    return np.asarray(point["passed"](result, gradient))


def _decisions() -> tuple[Decision, ...]:
    """Return the decisions of the embedding, with the other way to turn; the vectors play no part."""
    of_forward = {decision.name: decision for decision in ROTARY.without("vectors").decisions}
    return (*{**of_forward, "turn": TURN}.values(), TURNED_ARRAY, REST, PASSED)


ROTARY_BACKWARD: Family = replace(
    ROTARY, name="rotary_embedding_backward", decisions=_decisions(), compute=rotary_embedding_backward
)
