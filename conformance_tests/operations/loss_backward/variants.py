"""The family of the gradient of cross entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.loss.variants.targets import CLASSES, IGNORED
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.elementwise import WRITTEN
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.conformance_tests.variants.precision import in_range


def _not_shifted(logits: Array, dtype: str) -> Array:
    exponentials = in_range(np.exp(logits), dtype)
    return np.asarray(exponentials / in_range(exponentials.sum(axis=-1, keepdims=True), dtype))


def _over(axes: int | tuple[int, ...]) -> Callable[[Array, str], Array]:
    def apply(logits: Array, dtype: str) -> Array:
        exponentials = np.exp(logits - logits.max(axis=axes, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=axes, keepdims=True))

    return apply


# Of the logits and the dtype.
PROBABILITIES = Decision(
    "probabilities",
    "From which probabilities does the gradient come?",
    (
        standard("softmax_over_classes", lambda logits, dtype: reference.softmax(logits)),
        mistake("softmax_wrong_axis", _over(1), "over_positions"),
        mistake("softmax_wrong_axis", _over(0), "over_the_batch"),
        mistake("softmax_wrong_axis", _over((1, 2)), "over_each_sample"),
        mistake("softmax_no_max_subtraction", _not_shifted),
        mistake("softmax_no_max_subtraction", lambda logits, dtype: _not_shifted(logits, "float32"), "in_float32"),
        mistake("double_softmax_before_ce", lambda logits, dtype: reference.softmax(reference.softmax(logits))),
        neighbour("logits", lambda logits, dtype: logits, "the logits are taken for probabilities"),
        neighbour(
            "sigmoid",
            lambda logits, dtype: 1.0 / (1.0 + np.exp(-logits)),
            "each class has the derivative of a logistic loss of its own",
        ),
        neighbour(
            "logarithms",
            lambda logits, dtype: logits - reference.log_sum_exp(logits)[..., None],
            "the logarithms of the probabilities are taken for probabilities",
        ),
    ),
)

# Of one-hot targets, ε and the number of classes.
SMOOTHING = Decision(
    "smoothing",
    "Towards which distribution does the gradient go?",
    (
        standard("evenly_smoothed", lambda one_hot, share, n: (1.0 - share) * one_hot + share / n),
        mistake(
            "label_smoothing_spares_target",
            lambda one_hot, share, n: (1.0 - share) * one_hot + share / max(n - 1, 1) * (1.0 - one_hot),
        ),
        mistake("label_smoothing_keeps_target", lambda one_hot, share, n: one_hot + share / n),
        mistake(
            "smoothing_share_not_multiplied",
            lambda one_hot, share, n: (1.0 - share) * one_hot + (1.0 / n if share else 0.0),
        ),
        mistake(
            "smoothing_weight_of_target_rescaled",
            lambda one_hot, share, n: (1.0 - share * n / max(n - 1, 1)) * one_hot + share / n,
        ),
        mistake("smoothing_forgotten_in_backward", lambda one_hot, share, n: one_hot),
        neighbour(
            "target_scaled_only",
            lambda one_hot, share, n: (1.0 - share) * one_hot,
            "the target has 1 − ε and no class its part of ε",
        ),
        neighbour(
            "exchanged",
            lambda one_hot, share, n: share * one_hot + (1.0 - share) / n,
            "ε and 1 − ε are taken for each other",
        ),
        neighbour("none", lambda one_hot, share, n: np.zeros_like(one_hot), "the target's term is missing"),
    ),
)

# Of probabilities, the target distribution and one-hot targets.
DIFFERENCE = Decision(
    "difference",
    "Which difference is the gradient of one loss?",
    (
        standard("probabilities_less_targets", lambda p, y, one_hot: p - y),
        mistake("cross_entropy_gradient_sign", lambda p, y, one_hot: y - p),
        mistake("cross_entropy_gradient_of_probabilities", lambda p, y, one_hot: -y / p),
        mistake("cross_entropy_gradient_of_logarithms", lambda p, y, one_hot: -y),
        mistake("cross_entropy_gradient_at_target_only", lambda p, y, one_hot: (p - y) * one_hot),
        neighbour(
            "through_one_softmax_more",
            lambda p, y, one_hot: p * ((p - y) - (p * (p - y)).sum(axis=-1, keepdims=True)),
            "the gradient of the logits goes back through the softmax once more",
        ),
        neighbour("squared", lambda p, y, one_hot: 2.0 * (p - y), "the gradient is that of a squared error"),
        neighbour("zero", lambda p, y, one_hot: np.zeros_like(p), "no gradient is passed on"),
    ),
)


def _of_row_counts(kept: Array) -> Array:
    return np.asarray(np.maximum(kept.sum(axis=1, keepdims=True), 1) * max(int(kept.any(axis=1).sum()), 1))


# Of which targets count, and the number of classes.
COUNT = Decision(
    "count",
    "By what are the gradients of a mean divided?",
    (
        standard("number_kept", lambda kept, n: kept.sum()),
        mistake("loss_denominator_counts_padding", lambda kept, n: kept.size),
        mistake("loss_summed", lambda kept, n: 1),
        mistake("mean_of_means_over_microbatches", lambda kept, n: _of_row_counts(kept)),
        mistake("label_smoothing_normalisation", lambda kept, n: len(kept)),
        mistake("kl_mean_over_elements", lambda kept, n: kept.sum() * n),
        neighbour("length", lambda kept, n: kept.shape[1], "the gradients are divided by L"),
    ),
)
SUM = Decision(
    "sum",
    "By what are the gradients of a sum divided?",
    (
        standard("nothing", lambda kept: 1),
        mistake("loss_reduction_ignored", lambda kept: kept.sum()),
        mistake("loss_denominator_counts_padding", lambda kept: kept.size),
        mistake("loss_sum_divided_by_samples", len),
    ),
)


def _first(gradient: Array, shape: tuple[int, ...]) -> Array:
    return np.full(shape, gradient.flat[0])


_FIRST = "cross_entropy_backward_first_gradient_for_all"
# Of the gradient of the loss and the shape (B, L).
OWN = Decision(
    "own_gradient",
    "By which gradient of the loss is a position multiplied?",
    (
        standard("its_own", np.broadcast_to),
        mistake(_FIRST, _first),
        mistake("cross_entropy_backward_ignores_grad_output", lambda gradient, shape: np.ones(shape)),
        neighbour(
            "mean_of_all",
            lambda gradient, shape: np.full(shape, gradient.mean()),
            "each position is multiplied by the mean of all gradients of losses",
        ),
        neighbour(
            "sum_of_all",
            lambda gradient, shape: np.full(shape, gradient.sum()),
            "each position is multiplied by the sum of all gradients of losses",
        ),
    ),
)

# Of the rows of gradients, and which targets count.
ROWS = Decision(
    "ignored_rows",
    "What gradient have the logits of ignored targets?",
    (
        standard("none", lambda rows, kept: np.where(kept[..., None], rows, 0.0)),
        mistake("cross_entropy_gradient_at_ignored", lambda rows, kept: rows),
    ),
)


def cross_entropy_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of cross entropy at a point of the family, of the shape of the logits."""
    logits, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("logits", "grad_output"))
    targets, classes = np.asarray(arguments["targets"]), logits.shape[-1]
    kept, chosen, has_class = point["ignored"](targets, arguments.get("ignore_index"), classes)
    chosen, has_class = point["classes"](chosen), point["classes"](has_class)
    one_hot = (np.arange(classes) == chosen[..., None]) * has_class[..., None]
    wanted = point["smoothing"](one_hot, arguments.get("label_smoothing") or 0.0, classes)
    weights = point["probabilities"](logits, arguments.get("dtype", "float64"))
    rows = point["difference"](weights, wanted, one_hot)
    factor = point["own_gradient"](gradient, targets.shape) / _count(arguments, point, kept, classes)
    result = factor[..., None] * point["ignored_rows"](rows, kept)
    return np.asarray(point["written"](result, logits))


def _count(arguments: Arguments, point: Point, kept: Array, classes: int) -> Any:
    """Return by what the gradients of the requested reduction are divided."""
    asked = arguments.get("reduction") or "mean"
    if asked == "mean":
        return point["count"](kept, classes)
    return point["sum"](kept) if asked == "sum" else 1


CROSS_ENTROPY_BACKWARD = Family(
    "cross_entropy_backward",
    (PROBABILITIES, IGNORED, CLASSES, SMOOTHING, DIFFERENCE, COUNT, SUM, OWN, ROWS, WRITTEN),
    cross_entropy_backward,
    needs_dtype=True,
)
