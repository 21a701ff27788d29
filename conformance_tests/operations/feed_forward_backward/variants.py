"""The families of the gradients of feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations_backward.variants import GELU_BACKWARD, SILU_BACKWARD
from veriformer.conformance_tests.operations.feed_forward.variants import WHICH_ACTIVATION
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

# What only a kernel of their own gets wrong is no decision of a network, nor what a cut-off gradient of it is.
_KEPT = ("grid", "written", "place", "passed")
_ACTIVATIONS = {"gelu": GELU_BACKWARD.without(*_KEPT), "silu": SILU_BACKWARD.without(*_KEPT, "quotient")}


def _passed(activation: str, z: Array, gradient: Array, point: Point) -> Array:
    """Return the gradient before an activation function, at the points that those of GELU and SiLU are at."""
    if activation == "relu":
        return reference.activate_backward("relu", z, gradient)
    return _ACTIVATIONS[activation].compute({"x": z, "grad_output": gradient}, point.part(activation))


def _activated(activation: str, z: Array, point: Point) -> Array:
    form = point.part("gelu").option("form").name
    known: Any = form if form in ("erf", "tanh", "sigmoid") else "erf"
    return reference.activate(activation, z, gelu_form=known)  # type: ignore[arg-type]


def _at_input(back: Callable[[Array, Array], Array], gradient: Array, z: Array, x: Array) -> Array:
    return back(x if x.shape == z.shape else z, gradient)


# Of the function that returns dz for a z and what it is multiplied by; dh; z; activated hidden units; b_1; and x.
SLOPE = Decision(
    "slope",
    "How does the gradient pass the activation?",
    (
        standard("slope_at_the_argument", lambda back, gradient, z, h, bias, x: back(z, gradient)),
        mistake("network_backward_slope_forgotten", lambda back, gradient, z, h, bias, x: gradient),
        mistake("pre_activation_overwritten_by_activation", lambda back, gradient, z, h, bias, x: back(h, gradient)),
        mistake(
            "network_backward_slope_without_bias",
            lambda back, gradient, z, h, bias, x: back(z if bias is None else z - bias, gradient),
        ),
        mistake(
            "relu_backward_overwrites_gradient", lambda back, gradient, z, h, bias, x: back(z, np.ones_like(gradient))
        ),
        mistake(
            "relu_backward_masks_by_gradient_sign",
            lambda back, gradient, z, h, bias, x: np.where(gradient > 0.0, gradient, 0.0),
        ),
        mistake("activation_backward_of_relu", lambda back, gradient, z, h, bias, x: np.where(z > 0.0, gradient, 0.0)),
        mistake("network_backward_activated_again", lambda back, gradient, z, h, bias, x: gradient * h),
        mistake(
            "activation_backward_at_wrong_tensor",
            lambda back, gradient, z, h, bias, x: _at_input(back, gradient, z, x),
        ),
        neighbour(
            "twice", lambda back, gradient, z, h, bias, x: back(z, back(z, gradient)), "the slope is applied twice"
        ),
        neighbour("negated", lambda back, gradient, z, h, bias, x: -back(z, gradient), "the gradient changes its sign"),
    ),
)


def transposed(slug: str) -> tuple[Any, ...]:
    """Return the options of a decision how a gradient passes a matrix; the slug names the mistake."""
    return (
        standard("transposed", lambda matrix: matrix.T),
        # Elsewhere the product is not defined, and the program does something about it.
        mistake(slug, lambda matrix: matrix if matrix.shape[0] == matrix.shape[1] else matrix.T),
    )


_NOT_TRANSPOSED = "network_backward_matrix_not_transposed"
SECOND_MATRIX = Decision(
    "second_matrix",
    "How does the gradient pass the last matrix?",
    (
        *transposed(_NOT_TRANSPOSED),
        mistake("gradient_cut_off", lambda matrix: np.zeros_like(matrix.T), "not_into_hidden_units"),
    ),
)
FIRST_MATRIX = Decision("first_matrix", "How does the gradient pass the first matrix?", transposed(_NOT_TRANSPOSED))

# Of dz and dh: what the gradient by x starts from, that of the first matrix, and that of its bias.
_SLOPE_MISSING = "slope_missing_in_one_gradient"
WHICH_UNITS = Decision(
    "which_units",
    "From which gradient of the hidden units are x's, the first matrix's and the first bias's made?",
    (
        standard("before_activation", lambda dz, dh: (dz, dz, dz)),
        mistake(_SLOPE_MISSING, lambda dz, dh: (dh, dz, dz), "of_x_after"),
        mistake(_SLOPE_MISSING, lambda dz, dh: (dz, dh, dz), "of_matrix_after"),
        mistake("bias_gradient_skips_activation_derivative", lambda dz, dh: (dz, dz, dh)),
        mistake("gradient_cut_off", lambda dz, dh: (np.zeros_like(dz), dz, dz), "no_x"),
        mistake("network_weights_without_gradient", lambda dz, dh: (dz, np.zeros_like(dz), dz), "no_first_matrix"),
        mistake("network_weights_without_gradient", lambda dz, dh: (dz, dz, np.zeros_like(dz)), "no_first_bias"),
    ),
)

LAST_UNITS = Decision(
    "last_units",
    "From which hidden units is the last matrix's gradient made?",
    (
        standard("activated", lambda h, z: h),
        mistake("last_matrix_gradient_of_preactivation", lambda h, z: z),
        mistake("network_weights_without_gradient", lambda h, z: np.zeros_like(h), "no_last_matrix"),
    ),
)


def _rows(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


def _samples(array: Array) -> Array:
    """Return the vectors by sample: the first axis of an array of rank 3 or more, all in one sample elsewhere."""
    return array.reshape(array.shape[0] if array.ndim > 2 else 1, -1, array.shape[-1])


def _of_matrix(x: Array, gradient: Array) -> Array:
    return np.asarray(_rows(x).T @ _rows(gradient))


def _of_one(sample: int) -> Callable[[Array, Array], Array]:
    return lambda x, gradient: np.asarray(_samples(x)[sample].T @ _samples(gradient)[sample])


def _averaged(count: Callable[[Array], int]) -> Callable[[Array, Array], Array]:
    return lambda x, gradient: np.asarray(_of_matrix(x, gradient) / count(x))


_OVER_ROWS = (
    mistake("matrix_gradient_a_mean", _averaged(lambda x: _rows(x).shape[0])),
    mistake("matrix_gradient_a_mean", _averaged(lambda x: len(_samples(x))), "over_samples"),
    mistake("matrix_gradient_of_one_sample", _of_one(-1)),
    mistake("matrix_gradient_of_one_sample", _of_one(0), "of_first_sample"),
    mistake("matrix_gradient_of_one_sample", lambda x, g: np.outer(_rows(x)[-1], _rows(g)[-1]), "of_last_vector"),
    neighbour("doubled", lambda x, gradient: 2.0 * _of_matrix(x, gradient), "the matrices' gradients are doubled"),
)


def matrix_sum(matrix: str) -> Decision:
    """Return the decision over which vectors the gradient of a matrix is summed."""
    question = f"Over which vectors is the gradient of {matrix} summed?"
    return Decision(f"sum_of_{matrix}", question, (standard("all", _of_matrix), *_OVER_ROWS))


_OVER_VECTORS = (
    mistake("bias_gradient_a_mean", lambda gradient: _rows(gradient).mean(axis=0)),
    mistake("bias_gradient_a_mean", lambda given: _rows(given).sum(axis=0) / len(_samples(given)), "over_samples"),
    mistake("bias_gradient_not_summed_over_rows", lambda gradient: _rows(gradient)[0]),
    mistake("bias_gradient_not_summed_over_rows", lambda gradient: _rows(gradient)[-1], "of_last_vector"),
    mistake("bias_gradient_only_first_axis_summed", lambda gradient: _samples(gradient).sum(axis=0)[0]),
    mistake("bias_gradient_only_first_axis_summed", lambda given: _samples(given)[0].sum(axis=0), "of_first_sample"),
    mistake("bias_gradient_summed_over_features_too", lambda given: np.full(given.shape[-1], given.sum())),
    mistake("network_weights_without_gradient", lambda gradient: np.zeros(gradient.shape[-1]), "no_bias"),
)


def bias_sum(bias: str) -> Decision:
    """Return the decision over which axes the gradient of a bias is summed."""
    question = f"Over which axes is the gradient of {bias} summed?"
    summed = standard("all_vectors", lambda gradient: _rows(gradient).sum(axis=0))
    return Decision(f"sum_of_{bias}", question, (summed, *_OVER_VECTORS))


_PLAIN_SUMS = (*map(matrix_sum, ("w_1", "w_2")), *map(bias_sum, ("b_1", "b_2")))
_GATED_SUMS = tuple(map(matrix_sum, ("w_gate", "w_up", "w_down")))

RESIDUAL = Decision(
    "residual",
    "Is the output's gradient added to that of x?",
    (
        standard("no", lambda gradient, given: gradient),
        neighbour("added", lambda gradient, given: gradient + given, "the output's gradient is added to that of x"),
    ),
)


def _joined(*parts: Array) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def _given(arguments: Arguments) -> tuple[Array, Array, Any]:
    x, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "grad_output"))
    return x, gradient, arguments["weights"]


def feed_forward_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of a feed-forward network at a point of the family, one after the other."""
    x, gradient, weights = _given(arguments)
    activation = point["activation"](arguments["activation"])
    z = x @ weights.w_1 if weights.b_1 is None else x @ weights.w_1 + weights.b_1
    h = _activated(activation, z, point)
    grad_hidden = gradient @ point["second_matrix"](weights.w_2)

    def back(at: Array, above: Array) -> Array:
        return _passed(activation, at, above, point)

    grad_inner = point["slope"](back, grad_hidden, z, h, weights.b_1, x)
    of_x, of_matrix, of_bias = point["which_units"](grad_inner, grad_hidden)
    grad_x = point["residual"](of_x @ point["first_matrix"](weights.w_1), gradient)
    parts = [grad_x, point["sum_of_w_1"](x, of_matrix), point["sum_of_w_2"](point["last_units"](h, z), gradient)]
    for name, given in (("b_1", of_bias), ("b_2", gradient)):
        if getattr(weights, name) is not None:
            parts.append(point[f"sum_of_{name}"](given))
    return _joined(*parts)


FEED_FORWARD_BACKWARD = Family(
    "feed_forward_backward",
    (
        WHICH_ACTIVATION,
        SLOPE,
        WHICH_UNITS,
        LAST_UNITS,
        *_PLAIN_SUMS,
        SECOND_MATRIX,
        FIRST_MATRIX,
        RESIDUAL,
    ),
    feed_forward_backward,
    _ACTIVATIONS,
)


def _into_first(gradient: Array) -> Array:
    """Return what is left where each vector's gradient was written into the first one's."""
    rows = np.zeros_like(_rows(gradient))
    rows[0] = _rows(gradient)[-1]
    return rows.reshape(gradient.shape)


# Of dh, the gate's derivative as a function of what it is multiplied by, the activated gate, the gate and the branch.
BRANCHES = Decision(
    "branches",
    "What are the gradients of the gate and of the other branch?",
    (
        standard("each_times_the_other", lambda dh, back, a, g, u: (back(dh * u), dh * a)),
        mistake("gated_backward_gradients_exchanged", lambda dh, back, a, g, u: (dh * a, back(dh * u))),
        mistake("gated_backward_branch_forgotten_in_gate", lambda dh, back, a, g, u: (back(dh), dh * a)),
        mistake("network_backward_slope_forgotten", lambda dh, back, a, g, u: (dh * u, dh * a)),
        mistake("network_backward_activated_again", lambda dh, back, a, g, u: (dh * u * a, dh * a), "gate_activated"),
        mistake("gated_backward_gate_not_activated", lambda dh, back, a, g, u: (back(dh * u), dh * g)),
        mistake("gated_backward_gate_not_activated", lambda dh, back, a, g, u: (back(dh * u), dh), "no_gate"),
        mistake("gated_backward_gate_twice", lambda dh, back, a, g, u: (back(dh * a), dh * a)),
        mistake("gradient_cut_off", lambda dh, back, a, g, u: (np.zeros_like(dh), dh * a), "no_gate_gradient"),
        mistake("gated_backward_rows_written_to_first", lambda dh, back, a, g, u: (back(dh * u), _into_first(dh * a))),
        neighbour("negated", lambda dh, back, a, g, u: (-back(dh * u), dh * a), "the gate's gradient changes its sign"),
    ),
)
INTO_X = Decision(
    "into_x",
    "Which branches pass their gradients on to x?",
    (
        standard("both", lambda through_gate, through_up: through_gate + through_up),
        mistake("gated_backward_one_branch_only", lambda through_gate, through_up: through_up),
        mistake("gated_backward_one_branch_only", lambda through_gate, through_up: through_gate, "gate_alone"),
        mistake("gradient_cut_off", lambda through_gate, through_up: np.zeros_like(through_up), "no_x"),
    ),
)
GATED_LAST_UNITS = Decision(
    "last_units",
    "From which hidden units is the last matrix's gradient made?",
    (
        standard("gated", lambda a, g, u: a * u),
        mistake("gated_backward_down_weight_sees_ungated", lambda a, g, u: u),
        mistake("gated_backward_down_weight_sees_ungated", lambda a, g, u: a, "activated_gate"),
        mistake("last_matrix_gradient_of_preactivation", lambda a, g, u: g * u),
        mistake("network_weights_without_gradient", lambda a, g, u: np.zeros_like(u), "no_last_matrix"),
    ),
)
# Of the gradients of both branches: what x's, and what the two matrices' start from.
GATED_UNITS = Decision(
    "which_units",
    "Do both matrices get their branch's gradient?",
    (
        standard("each_its_own", lambda dg, du: (dg, du)),
        mistake("network_weights_without_gradient", lambda dg, du: (np.zeros_like(dg), du), "no_gate_matrix"),
        mistake("network_weights_without_gradient", lambda dg, du: (dg, np.zeros_like(du)), "no_up_matrix"),
        mistake("gated_weight_gradients_exchanged", lambda dg, du: (du, dg)),
    ),
)


def gated_feed_forward_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of a gated feed-forward network at a point of the family, one after the other."""
    x, gradient, weights = _given(arguments)
    activation = point["activation"](arguments["activation"])
    gate, up = x @ weights.w_gate, x @ weights.w_up
    activated = _activated(activation, gate, point)
    grad_hidden = gradient @ point["second_matrix"](weights.w_down)

    def back(above: Array) -> Array:
        return _passed(activation, gate, above, point)

    grad_gate, grad_up = point["branches"](grad_hidden, back, activated, gate, up)
    turned = point["first_matrix"]
    grad_x = point["into_x"](grad_gate @ turned(weights.w_gate), grad_up @ turned(weights.w_up))
    of_gate, of_up = point["which_units"](grad_gate, grad_up)
    last = point["last_units"](activated, gate, up)
    return _joined(
        point["residual"](grad_x, gradient),
        point["sum_of_w_gate"](x, of_gate),
        point["sum_of_w_up"](x, of_up),
        point["sum_of_w_down"](last, gradient),
    )


GATED_FEED_FORWARD_BACKWARD = Family(
    "gated_feed_forward_backward",
    (
        WHICH_ACTIVATION,
        BRANCHES,
        INTO_X,
        GATED_UNITS,
        GATED_LAST_UNITS,
        *_GATED_SUMS,
        SECOND_MATRIX,
        FIRST_MATRIX,
        RESIDUAL,
    ),
    gated_feed_forward_backward,
    _ACTIVATIONS,
)
