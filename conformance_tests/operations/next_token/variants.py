"""The family of the loss of next tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.loss.variants.formula import LOGITS, NORMALISER, NUMBERS, RESULT
from veriformer.conformance_tests.operations.loss.variants.targets import IGNORED as OF_TARGETS
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def _joined(array: Array) -> Array:
    """Return all rows one after the other, as one row."""
    return array.reshape(1, -1, *array.shape[2:])


SHIFT = Decision(
    "shift",
    "Which token judges which logits?",
    (
        standard("next_token", lambda logits, tokens: (logits[:, :-1], tokens[:, 1:])),
        mistake("labels_not_shifted", lambda logits, tokens: (logits, tokens)),
        mistake("labels_not_shifted", lambda logits, tokens: (logits[:, :-1], tokens[:, :-1]), "not_shifted_but_cut"),
        mistake("labels_not_shifted", lambda logits, tokens: (logits[:, 1:], tokens[:, 1:]), "both_cut_in_front"),
        mistake("labels_shifted_twice", lambda logits, tokens: (logits[:, :-2], tokens[:, 2:])),
        mistake(
            "shift_after_flattening",
            lambda logits, tokens: (_joined(logits)[:, :-1], _joined(tokens)[:, 1:]),
        ),
        mistake(
            "labels_rolled",
            lambda logits, tokens: (logits, np.roll(tokens, -1, axis=1)),
        ),
        mistake(
            "labels_rolled",
            lambda logits, tokens: (logits, np.roll(tokens, -1)),
            "rolled_through_batch",
        ),
        mistake("labels_shifted_backwards", lambda logits, tokens: (logits[:, 1:], tokens[:, :-1])),
        neighbour(
            "over_the_batch",
            lambda logits, tokens: (logits[:-1], tokens[1:]),
            "the batch is shifted, so that a row is judged by the tokens of the next row",
        ),
    ),
)

# Which positions count, their classes, and 0 where a position has none.
Targets = tuple[Array, Array, Array]
# Of the targets, the ignored value or None, and the number of classes.
OfTargets = Callable[[Array, int | None, int], Targets]
# Of all tokens too.
OfTokens = Callable[[Array, int | None, int, Array], Targets]


def _way(name: str) -> OfTargets:
    """Return what becomes of ignored targets in the option of the cross entropy that has this name."""
    return OF_TARGETS.option(name).apply


def _marked_by_zero(targets: Array, ignored: int | None, classes: int) -> Targets:
    """Return what counts where a target that should not is replaced by class 0."""
    every = np.ones(targets.shape, dtype=bool)
    return every, targets if ignored is None else np.where(targets == ignored, 0, targets), np.ones(targets.shape)


def _of_targets(apply: OfTargets) -> OfTokens:
    return lambda targets, ignored, classes, tokens: apply(targets, ignored, classes)


def _not_a_number(targets: Array, ignored: int | None, classes: int) -> Targets:
    """Return targets of which no class of that number has no number as its loss, as JAX fills what is not there."""
    valid = (targets >= -classes) & (targets < classes)
    return np.ones(targets.shape, dtype=bool), np.where(valid, targets % classes, 0), np.where(valid, 1.0, np.nan)


def _by_own_token(apply: OfTargets) -> OfTokens:
    """Return what counts where the token itself must not be ignored, instead of the next one.

    A target that should not count has the class that `apply` gives it.
    """

    def counted(targets: Array, ignored: int | None, classes: int, tokens: Array) -> Targets:
        kept, chosen, has_class = apply(targets, ignored, classes)
        if ignored is None or targets.shape != tokens[:, 1:].shape:
            return kept, chosen, has_class
        return tokens[:, :-1] != ignored, chosen, has_class

    return counted


IGNORED = Decision(
    "ignored",
    "What becomes of the targets that are to be ignored?",
    (
        standard("left_out", _of_targets(_way("left_out"))),
        mistake("prompt_labels_not_ignored", _of_targets(_marked_by_zero)),
        mistake("ignored_mask_not_shifted", _by_own_token(_marked_by_zero)),
        *(
            mistake("ignored_mask_not_shifted", _by_own_token(_way(name)), f"mask_not_shifted_{name}")
            for name in ("counted_without_class", "counted_as_first_class", "counted_from_the_end")
        ),
        mistake("ignored_mask_not_shifted", _by_own_token(_not_a_number), "mask_not_shifted_not_a_number"),
        *(mistake(option.slug, _of_targets(option.apply), option.name) for option in OF_TARGETS.options[1:]),
    ),
)


def _mean(losses: Array) -> Array:
    return np.mean(losses) if losses.size else np.asarray(np.nan)


def _mean_of_rows(losses: Array, kept: Array, before: Array) -> Array:
    means = np.where(kept, losses, 0.0).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
    return _mean(means[kept.any(axis=1)])


# Of the losses, which count, and which tokens would count if the first ones were targets.
REDUCTION = Decision(
    "reduction",
    "How do the losses of all positions become one?",
    (
        standard("mean_over_kept", lambda losses, kept, before: _mean(losses[kept])),
        mistake("loss_denominator_counts_padding", lambda losses, kept, before: losses[kept].sum() / kept.size),
        mistake("loss_denominator_counts_unshifted", lambda losses, kept, before: losses[kept].sum() / before.sum()),
        mistake(
            "loss_denominator_counts_unshifted",
            lambda losses, kept, before: losses[kept].sum() / before.size,
            "all_tokens_counted",
        ),
        mistake("mean_of_means_over_microbatches", _mean_of_rows),
        mistake("loss_summed", lambda losses, kept, before: losses[kept].sum()),
        neighbour(
            "divided_by_rows",
            lambda losses, kept, before: losses[kept].sum() / len(losses),
            "the sum of the losses is divided by the number of rows",
        ),
        neighbour(
            "divided_by_length",
            lambda losses, kept, before: losses[kept].sum() / losses.shape[1],
            "the sum of the losses is divided by L − 1",
        ),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the loss of next tokens at a point of the family, a number."""
    tokens, ignored = np.asarray(arguments["tokens"]), arguments.get("ignore_index")
    logits, targets = point["shift"](np.asarray(arguments["logits"], dtype=np.float64), tokens)
    if not targets.size:
        # The mean of nothing.
        return np.asarray(np.nan)
    logits, count = point["logits"](logits), logits.shape[-1]
    kept, classes, has_class = point["ignored"](targets, ignored, count, tokens)
    distance = point["numbers"](point["normaliser"], logits, 0.0, arguments.get("dtype", "float64")) - logits
    losses = np.take_along_axis(distance, classes[..., None], axis=-1)[..., 0] * has_class
    before = np.ones(tokens.shape, dtype=bool) if ignored is None else tokens != ignored
    result: Array = point["result"](point["reduction"](losses, kept, before))
    return result


NEXT_TOKEN_LOSS = Family(
    "next_token_loss",
    (SHIFT, LOGITS, NORMALISER, NUMBERS, IGNORED, REDUCTION, RESULT),
    compute,
    needs_dtype=True,
)
