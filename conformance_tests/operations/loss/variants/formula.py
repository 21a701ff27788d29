"""The family of cross entropy.

The loss of a position is Σ_k y_k (lse(z) − z_k): the surprise of the target and the spread over all classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.loss.variants.targets import ALIGNMENT, CLASSES, IGNORED
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point
from veriformer.conformance_tests.variants.precision import in_range

# The option that drops the last position of each sample.
_SHORTER = "targets_shifted_again"

LOGITS = Decision(
    "logits",
    "What are the logits?",
    (
        standard("as_given", lambda logits: logits),
        mistake("double_softmax_before_ce", reference.softmax),
        mistake("", lambda logits: -logits, "negated", "the logits are negated"),
        mistake("", lambda logits: 1.0 / (1.0 + np.exp(-logits)), "sigmoid", "logits pass through a sigmoid first"),
    ),
)


def _over(*axes: int) -> Any:
    """Return ln Σ e^z over some axes."""

    def apply(logits: Array) -> Array:
        highest = logits.max(axis=axes, keepdims=True)
        return np.asarray(highest + np.log(np.exp(logits - highest).sum(axis=axes, keepdims=True)))

    return apply


def _log_sum_exp(logits: Array) -> Array:
    return reference.log_sum_exp(logits)[..., None]


NORMALISER = Decision(
    "normaliser",
    "From what are the logits subtracted?",
    (
        standard("logarithm_over_classes", _log_sum_exp),
        mistake("softmax_wrong_axis", _over(1), "over_positions"),
        mistake("softmax_wrong_axis", _over(0), "over_the_batch"),
        mistake("softmax_wrong_axis", _over(1, 2), "over_each_sample"),
        mistake("softmax_wrong_axis", _over(0, 1, 2), "over_everything"),
        mistake("lse_base2_vs_e", lambda logits: _log_sum_exp(logits) / np.log(2.0)),
        mistake("log_softmax_forgotten", lambda logits: np.zeros((*logits.shape[:-1], 1))),
        mistake("", lambda logits: logits.max(axis=-1, keepdims=True), "maximum", "the maximum instead of ln Σ e^z"),
    ),
)

Normaliser = Callable[[Array], Array]


def _not_shifted(computed_in: str, *, one_hot: bool) -> Callable[[Normaliser, Array, float, str], Array]:
    """Return ln Σ e^z without subtracting the largest logit, where numbers leave the range of a dtype.

    Multiplying by a one-hot vector then multiplies infinity by zero, unless every class has a share.
    """

    def apply(exact: Normaliser, logits: Array, share: float, dtype: str) -> Array:
        exponentials = in_range(np.exp(logits), computed_in or dtype)
        logarithm = np.log(in_range(exponentials.sum(axis=-1, keepdims=True), computed_in or dtype))
        return np.where(np.isfinite(logarithm) | (share > 0), logarithm, np.nan if one_hot else logarithm)

    return apply


def _of_probabilities(exact: Normaliser, logits: Array, share: float, dtype: str) -> Array:
    """Return what the logits are subtracted from where the loss is −ln p of probabilities p that a dtype holds."""
    with np.errstate(divide="ignore"):
        return np.asarray(logits - np.log(in_range(np.exp(logits - exact(logits)), dtype)))


NUMBERS = Decision(
    "numbers",
    "Do the exponentials stay in range?",
    (
        standard("shifted", lambda exact, logits, share, dtype: exact(logits)),
        *(
            mistake(
                "softmax_no_max_subtraction",
                _not_shifted(dtype, one_hot=one_hot),
                f"{'one_hot' if one_hot else 'gathered'}{dtype and '_in_'}{dtype}",
            )
            for dtype in ("", "float32")
            for one_hot in (False, True)
        ),
        mistake(
            "",
            _of_probabilities,
            "logarithm_of_probability",
            "the logarithm is taken of the softmax, which is 0 for logits far below the largest: the loss is infinite",
        ),
    ),
)


def _by_default(share: float) -> Callable[[float | None], float]:
    return lambda asked: share if asked is None else asked


SHARE = Decision(
    "share",
    "How much are labels smoothed?",
    (
        standard("as_asked", lambda asked: asked or 0.0),
        *(
            mistake("smoothing_on_by_default", _by_default(value), f"{value:g}_by_default")
            for value in (0.1, 0.05, 0.2)
        ),
        mistake("smoothing_on_by_default", lambda asked: asked or 0.1, "0.1_for_zero"),
    ),
)


def _mixture(surprise: Array, spread: Array, share: float, classes: int) -> tuple[Array, Array | None]:
    if share == 0.0:
        # Nothing but an infinite spread makes a difference here, and that a wrong normaliser.
        return surprise, None
    return (1.0 - share) * surprise + share * spread, None


def _spares_target(fewest: int) -> Callable[..., tuple[Array, Array | None]]:
    """Return the loss whose smoothing goes to the other classes, counted as `fewest` at least: with 0, of none NaN."""

    def smoothed(surprise: Array, spread: Array, share: float, classes: int) -> tuple[Array, Array | None]:
        others = (classes * spread - surprise) / np.float64(max(classes - 1, fewest))
        return (1.0 - share) * surprise + share * others, None

    return smoothed


def _uniform_over_all(surprise: Array, spread: Array, share: float, classes: int) -> tuple[Array, Array | None]:
    return (1.0 - share) * surprise, share * spread


# What is averaged over the positions that count, and what over all of them.
SMOOTHING = Decision(
    "smoothing",
    "How is ε spread over the classes?",
    (
        standard("evenly", _mixture),
        mistake("label_smoothing_spares_target", _spares_target(1)),
        mistake("label_smoothing_spares_target", _spares_target(0), "spares_target_of_one_class_nan"),
        mistake("label_smoothing_keeps_target", lambda one, spread, share, n: (one + share * spread, None)),
        mistake("label_smoothing_ignores_padding", _uniform_over_all),
        mistake("", lambda one, spread, share, n: (one, None), "ignored", "ε is not looked at"),
        mistake(
            "",
            lambda one, spread, share, n: (share * one + (1.0 - share) * spread, None),
            "exchanged",
            "ε and 1 − ε are taken for each other",
        ),
        mistake(
            "",
            lambda one, spread, share, n: ((1.0 - share) * one + share * (spread - one / n), None),
            "target_without_part",
            "the target has no part of ε, so that the shares do not sum to one",
        ),
        mistake(
            "",
            lambda one, spread, share, n: ((1.0 - share) * one + share * n * spread, None),
            "not_divided",
            "every class gets ε instead of ε/N",
        ),
    ),
)


def _mean(losses: Array) -> Array:
    return np.mean(losses) if losses.size else np.asarray(np.nan)


def _mean_of_row_means(axis: int, *, empty_count: bool) -> Any:
    """Return the mean over rows of each row's mean; a row without a target that counts is left out or has none."""

    def apply(losses: Array, kept: Array, classes: int) -> Array:
        means = np.where(kept, losses, 0.0).sum(axis=axis) / np.maximum(kept.sum(axis=axis), 1)
        return _mean(means if empty_count else means[kept.any(axis=axis)])

    return apply


_MEAN_OF_MEANS = "mean_of_means_over_microbatches"
REDUCTION = Decision(
    "reduction",
    "How do the losses of all positions become one?",
    (
        standard("mean_over_kept", lambda losses, kept, classes: _mean(losses[kept])),
        mistake("loss_denominator_counts_padding", lambda losses, kept, classes: losses[kept].sum() / kept.size),
        mistake(_MEAN_OF_MEANS, _mean_of_row_means(1, empty_count=False)),
        mistake(_MEAN_OF_MEANS, _mean_of_row_means(1, empty_count=True), "empty_rows_counted"),
        mistake(_MEAN_OF_MEANS, _mean_of_row_means(0, empty_count=False), "mean_of_each_position"),
        mistake("loss_summed", lambda losses, kept, classes: losses[kept].sum()),
        mistake("label_smoothing_normalisation", lambda losses, kept, classes: losses[kept].sum() / len(losses)),
        mistake("kl_mean_over_elements", lambda losses, kept, classes: _mean(losses[kept]) / classes),
        mistake(
            "",
            lambda losses, kept, classes: losses[kept].sum() / losses.shape[1],
            "divided_by_length",
            "the sum of the losses is divided by L",
        ),
    ),
)


Reduced = Callable[[Array, Array, tuple[Array, Array]], Array]


def _divided(count: Callable[[Array, Array], Any]) -> Reduced:
    """Return the sum over the targets that count, divided by a count."""
    return lambda losses, kept, unmasked: losses[kept].sum() / count(losses, kept)


# For a requested sum, or each loss: the losses of the targets that count, and all losses.
SUM = Decision(
    "sum",
    "What are the losses when their sum is requested?",
    (
        standard("added_up", lambda losses, kept, unmasked: losses[kept].sum()),
        mistake("loss_reduction_ignored", _divided(lambda losses, kept: kept.sum())),
        mistake("loss_denominator_counts_padding", _divided(lambda losses, kept: kept.size)),
        mistake("loss_sum_divided_by_samples", _divided(lambda losses, kept: len(losses))),
        mistake("loss_sum_counts_ignored", lambda losses, kept, unmasked: unmasked[0].sum()),
        mistake("loss_sum_counts_ignored", lambda losses, kept, unmasked: unmasked[1].sum(), "as_of_the_first_class"),
        mistake(
            "",
            _divided(lambda losses, kept: losses.shape[1]),
            "divided_by_length",
            "the requested sum is divided by L",
        ),
    ),
)
EACH = Decision(
    "each",
    "What are the losses when each is requested?",
    (
        standard("zero_where_ignored", lambda losses, kept, unmasked: np.where(kept, losses, 0.0)),
        mistake("loss_of_ignored_returned", lambda losses, kept, unmasked: unmasked[0]),
        mistake("loss_of_ignored_returned", lambda losses, kept, unmasked: unmasked[1], "as_of_the_first_class"),
        mistake(
            "",
            lambda losses, kept, unmasked: np.where(kept, losses, 0.0) / kept.sum(),
            "divided_by_count",
            "each loss is divided by the number of targets that count",
        ),
    ),
)

RESULT = Decision(
    "result",
    "What is returned?",
    (
        standard("loss", lambda loss: loss),
        mistake("lse_base2_vs_e", lambda loss: loss / np.log(2.0), "bits"),
        mistake("", lambda loss: -loss, "negated", "the logarithm of the likelihood, without the minus"),
        mistake("", np.exp, "perplexity", "the perplexity e^loss"),
    ),
)


def cross_entropy(arguments: Arguments, point: Point) -> Array:
    """Return cross entropy at a point of the family, a number."""
    given = (np.asarray(arguments["logits"], dtype=np.float64), np.asarray(arguments["targets"]))
    logits, targets = point["alignment"](*given)
    logits, count = point["logits"](logits), logits.shape[-1]
    kept, classes, has_class = point["ignored"](targets, arguments.get("ignore_index"), count)
    classes, has_class = point["classes"](classes), point["classes"](has_class)
    share = point["share"](arguments.get("label_smoothing"))
    dtype = arguments.get("dtype", "float64")
    distance = point["numbers"](point["normaliser"], logits, share, dtype) - logits
    surprise = np.take_along_axis(distance, classes[..., None], axis=-1)[..., 0]
    losses, evenly = point["smoothing"](surprise * has_class, distance.mean(axis=-1), share, count)
    reduced = _reduction(arguments, point, count)
    # What is left where every position has a class, its own or the first, and nothing is taken out afterwards.
    own, first = (
        np.where(kept, losses, point["smoothing"](one, distance.mean(axis=-1), share, count)[0])
        for one in (surprise, distance[..., 0])
    )
    loss = reduced(losses, kept, (own, first))
    if evenly is not None:
        loss = loss + reduced(evenly, np.ones(kept.shape, dtype=bool), (evenly, evenly))
    result: Array = point["result"](loss)
    return result


def _reduction(arguments: Arguments, point: Point, classes: int) -> Reduced:
    """Return the reduced losses for the requested reduction."""
    asked = arguments.get("reduction") or "mean"
    if asked == "mean":
        return lambda losses, kept, unmasked: point["reduction"](losses, kept, classes)
    if asked == "sum":
        return point["sum"]
    if point.option("alignment").name == _SHORTER:
        raise NotDefined("fewer losses than positions would come back")
    return point["each"]


CROSS_ENTROPY = Family(
    "cross_entropy",
    (ALIGNMENT, LOGITS, NORMALISER, NUMBERS, IGNORED, CLASSES, SHARE, SMOOTHING, REDUCTION, SUM, EACH, RESULT),
    cross_entropy,
    needs_dtype=True,
)
