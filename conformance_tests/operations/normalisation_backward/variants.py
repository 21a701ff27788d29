"""The families of the gradients of the norms: layer normalisation and root-mean-square normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.normalisation.variants import (
    EPS_PLACEMENT,
    EPS_VALUE,
    GAIN,
    MEAN_SQUARE,
    STATISTICS,
    VARIANCE,
)
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

# Of values (batch, rows, width), one for each vector.
Average = Callable[[Array], Array]


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=-1, keepdims=True))


def _sum(values: Array) -> Array:
    return np.asarray(values.sum(axis=-1, keepdims=True))


def _mean_of_all(values: Array) -> Array:
    return np.broadcast_to(values.mean(), (*values.shape[:-1], 1))


def _mean_over_rows(values: Array) -> Array:
    return np.asarray(values.mean(axis=-2, keepdims=True))


def _by_one_less(values: Array) -> Array:
    return np.asarray(_sum(values) / np.float64(values.shape[-1] - 1))


def _nothing(values: Array) -> Array:
    return np.zeros((*values.shape[:-1], 1))


_ROWS_MIXED = "layer_norm_backward_means_over_all_rows"
_FORGOTTEN = "norm_backward_projections_forgotten"
MEAN_TERM = Decision(
    "mean_term",
    "What is subtracted for the mean?",
    (
        standard("mean", _mean),
        mistake("layer_norm_backward_mean_term_missing", _nothing),
        mistake("layer_norm_backward_mean_subtracted_twice", lambda values: 2.0 * _mean(values)),
        mistake("norm_backward_sum_for_mean", _sum),
        mistake(_ROWS_MIXED, _mean_of_all),
        mistake(_ROWS_MIXED, _mean_over_rows, "mean_over_rows"),
        neighbour("added", lambda values: -_mean(values), "the mean of the gradients is added, not subtracted"),
        neighbour("divided_by_one_less", _by_one_less, "the sum of the gradients is divided by n − 1 instead of n"),
    ),
)
ALONG_TERM = Decision(
    "along_term",
    "How much of the gradient along the normalised vector is subtracted?",
    (
        standard("mean", _mean),
        mistake("norm_backward_root_taken_as_constant", _nothing),
        mistake("norm_backward_sum_for_mean", _sum),
        mistake(_ROWS_MIXED, _mean_of_all),
        mistake(_ROWS_MIXED, _mean_over_rows, "mean_over_rows"),
        mistake("norm_backward_along_term_added", lambda values: -_mean(values)),
        neighbour("half", lambda values: 0.5 * _mean(values), "the part along the normalised vector is halved"),
        neighbour("twice", lambda values: 2.0 * _mean(values), "the part along the normalised vector counts twice"),
        neighbour("divided_by_one_less", _by_one_less, "that part's sum is divided by n − 1 instead of n"),
    ),
)
RMS_ALONG_TERM = Decision(
    "along_term",
    ALONG_TERM.question,
    (
        *ALONG_TERM.without("norm_backward_root_taken_as_constant").options,
        mistake("norm_backward_projections_forgotten", _nothing),
    ),
)
PROJECTIONS = Decision(
    "projections",
    "Is what a shift and a scale would change removed from the gradient?",
    (
        standard("removed", lambda scaled, mean, along: scaled - mean - along),
        mistake(_FORGOTTEN, lambda scaled, mean, along: scaled),
    ),
)
ALONG_WHAT = Decision(
    "along_what",
    "Of which vector is the part removed?",
    (
        standard("normalised", lambda y, centred, x: y),
        mistake("norm_backward_input_for_normalised", lambda y, centred, x: x),
        neighbour("centred", lambda y, centred, x: centred, "the part along x − μ is removed, not along (x − μ)/σ"),
    ),
)
# A program that writes its result into the buffer that it keeps goes back with the result.
KEPT = Decision(
    "kept",
    "Which vector does the way back take for the normalised one?",
    (
        standard("normalised", lambda y, gain, shift: y),
        neighbour(
            "output",
            lambda y, gain, shift: y * gain + shift,
            "the backward pass takes the output, with gain and shift, for the normalised vector",
        ),
    ),
)
_TWICE = "all gradients are doubled, as by going back twice into the same buffers"


def _gain_missing_in(which: str) -> Callable[[Array, Array], tuple[Array, Array]]:
    def scaled(gradient: Array, gain: Array) -> tuple[Array, Array]:
        of_own, of_means = which != "own", which != "means"
        return gradient * (gain if of_own else 1.0), gradient * (gain if of_means else 1.0)

    return scaled


GAIN_OF_GRADIENT = Decision(
    "gain_of_gradient",
    "Is the output's gradient multiplied by the gain?",
    (
        standard("everywhere", lambda gradient, gain: (gradient * gain,) * 2),
        mistake("norm_backward_gain_forgotten", lambda gradient, gain: (gradient,) * 2),
        mistake("batch_statistics_gradient_scale_inside_sum_missing", _gain_missing_in("own")),
        mistake("norm_backward_gain_outside_sums_only", _gain_missing_in("means")),
        neighbour("divided", lambda gradient, gain: (gradient / gain,) * 2, "the gradient is divided by the gain"),
        neighbour("twice", lambda gradient, gain: (gradient * gain * gain,) * 2, "the gain is multiplied by twice"),
    ),
)
DIVISOR = Decision(
    "divisor_of_gradient",
    "By what is the difference divided?",
    (
        standard("root", lambda difference, root: difference / root),
        mistake("norm_backward_divisor_missing", lambda difference, root: difference),
        mistake("norm_backward_variance_for_root", lambda difference, root: difference / (root * root)),
        mistake("norm_backward_root_for_its_inverse", lambda difference, root: difference * root),
        neighbour("opposite", lambda difference, root: -difference / root, "the gradient has the opposite sign"),
    ),
)


def _over_vectors(values: Array) -> Array:
    return np.asarray(values.reshape(-1, values.shape[-1]).sum(axis=0))


def _mean_over_vectors(values: Array) -> Array:
    return np.asarray(values.reshape(-1, values.shape[-1]).mean(axis=0))


def _of_one(index: int) -> Average:
    return lambda values: np.asarray(values.reshape(-1, values.shape[-1])[index])


_MEAN = "norm_gain_gradient_a_mean"
_OVERWRITTEN = "norm_gain_gradient_last_vector"
OVER_VECTORS = Decision(
    "over_vectors",
    "How do the vectors contribute to the gradients of gain and shift?",
    (
        standard("sum", _over_vectors),
        mistake(_MEAN, _mean_over_vectors),
        mistake(_MEAN, lambda v: np.asarray(v.mean(axis=0).sum(axis=0)), "mean_over_samples"),
        mistake(_MEAN, lambda v: np.asarray(v.mean(axis=1).sum(axis=0)), "mean_over_rows"),
        mistake(_OVERWRITTEN, _of_one(-1)),
        mistake(_OVERWRITTEN, lambda v: np.asarray(v[-1].sum(axis=0)), "last_sample"),
        neighbour("first_vector", _of_one(0), "only the first vector contributes to the gradients of gain and shift"),
    ),
)
GAIN_GRADIENT = Decision(
    "gain_gradient",
    "By what is the output's gradient multiplied in the gain's gradient?",
    (
        standard("normalised", lambda gradient, y, x, centred, gain, grad_x: gradient * y),
        mistake("norm_gain_gradient_of_input", lambda gradient, y, x, centred, gain, grad_x: gradient * x),
        mistake("norm_gain_gradient_not_divided", lambda gradient, y, x, centred, gain, grad_x: gradient * centred),
        mistake("norm_gain_gradient_of_output", lambda gradient, y, x, centred, gain, grad_x: gradient * gain * y),
        mistake(
            "rms_norm_gain_gradient_from_overwritten_buffer",
            lambda gradient, y, x, centred, gain, grad_x: grad_x * y,
        ),
        mistake("norm_affine_gradient_missing", lambda gradient, y, x, centred, gain, grad_x: np.zeros_like(gradient)),
    ),
)


def _parted(order: tuple[int, ...] = (0, 1, 2)) -> Callable[..., Any]:
    return lambda *gradients: tuple(gradients[place] for place in order)


RETURNED = Decision(
    "returned",
    "Which gradients are returned?",
    (
        standard("each", _parted()),
        mistake("layer_norm_gain_and_shift_gradients_exchanged", _parted((0, 2, 1))),
        neighbour(
            "no_shift", lambda x, gamma, beta: (x, gamma, np.zeros_like(beta)), "the shift's gradient is always zero"
        ),
        mistake("gradient_cut_off", lambda x, gamma, beta: (np.zeros_like(x), gamma, beta), "no_x"),
        mistake(
            "norm_affine_gradient_missing",
            lambda x, gamma, beta: (x, np.zeros_like(gamma), np.zeros_like(beta)),
            "no_gain_and_no_shift",
        ),
        neighbour("twice", lambda x, gamma, beta: (2.0 * x, 2.0 * gamma, 2.0 * beta), _TWICE),
    ),
)


def _joined(*parts: Array) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def _statistics(arguments: Arguments, point: Point) -> tuple[Array, Array, Array, Array]:
    """Return x, what is divided, the root, and the other divisor of the part that is removed."""
    x = np.asarray(arguments["x"], dtype=np.float64)
    eps = point["eps_value"](arguments["eps"])
    centred, entries, over = point["statistics"](x)
    variance = point["variance"](entries, over)
    root = point["eps_placement"](variance, eps)
    inside = point.option("eps_placement").name != "outside_root"
    return x, centred, root, root if inside else np.where(variance == 0.0, 1.0, np.sqrt(variance))


def layer_norm_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of layer normalisation at a point of the family, one after the other."""
    gamma, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("gamma", "grad_output"))
    x, centred, root, other = _statistics(arguments, point)
    y, removed = (point["kept"](centred / by, gamma, np.asarray(arguments["beta"])) for by in (root, other))
    own, inside = point["gain_of_gradient"](gradient, gamma)
    along = point["along_what"](removed, centred, x) * point["along_term"](inside * point["along_what"](y, centred, x))
    difference = point["projections"](own, point["mean_term"](inside), along)
    grad_x = point["divisor_of_gradient"](difference, root)
    grad_gamma = point["over_vectors"](point["gain_gradient"](gradient, y, x, centred, gamma, grad_x))
    return _joined(*point["returned"](grad_x, grad_gamma, point["over_vectors"](gradient)))


LAYER_NORM_BACKWARD = Family(
    "layer_norm_backward",
    (
        PROJECTIONS,
        MEAN_TERM,
        ALONG_TERM,
        ALONG_WHAT,
        KEPT,
        GAIN_OF_GRADIENT,
        DIVISOR,
        OVER_VECTORS,
        GAIN_GRADIENT,
        RETURNED,
        STATISTICS,
        VARIANCE,
        EPS_VALUE,
        EPS_PLACEMENT,
    ),
    layer_norm_backward,
)

RMS_ROOT = Decision(
    "root",
    "By what was a vector divided?",
    (
        standard("eps_inside_root", lambda square, eps: np.sqrt(square + eps)),
        mistake("rmsnorm_eps_outside_sqrt", lambda square, eps: np.sqrt(square) + eps),
        mistake("norm_inverse_root_saved_as_variance", lambda square, eps: 1.0 / square),
        mistake("norm_inverse_root_saved_as_variance", lambda square, eps: 1.0 / (square + eps), "with_eps"),
    ),
)
RMS_MEAN_TERM = Decision(
    "mean_term",
    "Is a mean subtracted?",
    (
        standard("none", _nothing),
        mistake("rms_norm_backward_of_layer_norm", _mean),
    ),
)
RMS_RETURNED = Decision(
    "returned",
    "Which gradients are returned?",
    (
        standard("each", lambda x, gamma: (x, gamma)),
        mistake("gradient_cut_off", lambda x, gamma: (np.zeros_like(x), gamma), "no_x"),
        neighbour("twice", lambda x, gamma: (2.0 * x, 2.0 * gamma), _TWICE),
    ),
)


def rms_norm_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of root-mean-square normalisation at a point of the family, one after the other."""
    x, gamma, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "gamma", "grad_output"))
    root = point["root"](point["mean_square"](x), point["eps_value"](arguments["eps"]))
    gain = point["gain"](gamma)
    y = point["kept"](x / root, gain, 0.0)
    own, inside = point["gain_of_gradient"](gradient, gain)
    chosen = point["along_what"](y, x, x)
    difference = own - point["mean_term"](inside) - chosen * point["along_term"](inside * chosen)
    grad_x = point["divisor_of_gradient"](difference, root)
    grad_gamma = point["over_vectors"](point["gain_gradient"](gradient, y, x, x, gain, grad_x))
    return _joined(*point["returned"](grad_x, grad_gamma))


_OF_RMS = ALONG_WHAT.without("centred")
RMS_NORM_BACKWARD = Family(
    "rms_norm_backward",
    (
        RMS_MEAN_TERM,
        RMS_ALONG_TERM,
        _OF_RMS,
        KEPT,
        GAIN_OF_GRADIENT,
        DIVISOR,
        OVER_VECTORS,
        GAIN_GRADIENT.without("norm_gain_gradient_not_divided"),
        RMS_RETURNED,
        MEAN_SQUARE,
        RMS_ROOT,
        EPS_VALUE,
        GAIN.without("none"),
    ),
    rms_norm_backward,
)
