"""The family of the gradient of the loss of next tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.loss_backward.variants import DIFFERENCE, PROBABILITIES, ROWS
from veriformer.conformance_tests.operations.next_token.variants import IGNORED
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.elementwise import WRITTEN
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point

# Which logits are judged, the targets of these, and the rows of gradients put back in their places.
Shift = tuple[Array, Array, Callable[[Array], Array]]


def _within_rows(first: int, last: int, ahead: int) -> Callable[[Array, Array], Shift]:
    """Return the shift that judges the logits from `first` to L − `last` by the tokens `ahead` of them."""

    def apply(logits: Array, tokens: Array) -> Shift:
        length = tokens.shape[1]

        def back(rows: Array) -> Array:
            result = np.zeros(logits.shape)
            result[:, first : length - last] = rows
            return result

        return logits[:, first : length - last], tokens[:, first + ahead : length - last + ahead], back

    return apply


def _after_flattening(logits: Array, tokens: Array) -> Shift:
    def back(rows: Array) -> Array:
        result = np.zeros((1, tokens.size, logits.shape[-1]))
        result[:, :-1] = rows
        return result.reshape(logits.shape)

    flat = logits.reshape(1, -1, logits.shape[-1])
    return flat[:, :-1], tokens.reshape(1, -1)[:, 1:], back


def _all_rows(targets: Callable[[Array], Array]) -> Callable[[Array, Array], Shift]:
    return lambda logits, tokens: (logits, targets(tokens), lambda rows: rows)


def _returned_elsewhere(logits: Array, tokens: Array) -> Shift:
    """Return the right shift, with gradients that come back one token too late."""

    def back(rows: Array) -> Array:
        result = np.zeros(logits.shape)
        result[:, 1:] = rows
        return result

    return logits[:, :-1], tokens[:, 1:], back


SHIFT = Decision(
    "shift",
    "Which token judges which logits?",
    (
        standard("next_token", _within_rows(0, 1, 1)),
        mistake("labels_not_shifted", _within_rows(0, 0, 0)),
        mistake("labels_not_shifted", _within_rows(0, 1, 0), "not_shifted_but_cut"),
        mistake("labels_not_shifted", _within_rows(1, 0, 0), "both_cut_in_front"),
        mistake("labels_shifted_twice", _within_rows(0, 2, 2)),
        mistake("shift_after_flattening", _after_flattening),
        mistake("labels_rolled", _all_rows(lambda tokens: np.roll(tokens, -1, axis=1))),
        mistake("labels_rolled", _all_rows(lambda tokens: np.roll(tokens, -1)), "rolled_through_batch"),
        mistake("labels_shifted_backwards", _within_rows(1, 0, -1)),
        mistake("next_token_gradient_one_late", _returned_elsewhere),
    ),
)

# Of which targets count, and which tokens would count if the first ones were targets.
COUNT = Decision(
    "count",
    "By what are the gradients divided?",
    (
        standard("number_kept", lambda kept, before: kept.sum()),
        mistake("loss_denominator_counts_padding", lambda kept, before: kept.size),
        mistake("loss_denominator_counts_unshifted", lambda kept, before: before.sum()),
        mistake("loss_denominator_counts_unshifted", lambda kept, before: before.size, "all_tokens_counted"),
        mistake("loss_summed", lambda kept, before: 1),
        mistake(
            "mean_of_means_over_microbatches",
            lambda kept, before: np.maximum(kept.sum(axis=1), 1)[:, None, None] * kept.any(axis=1).sum(),
        ),
        neighbour("rows", lambda kept, before: len(kept), "the gradients are divided by the number of rows"),
        neighbour("length", lambda kept, before: kept.shape[1], "the gradients are divided by L − 1"),
    ),
)


def _at_padded_labels(result: Array, weights: Array, factor: Array, kept: Array) -> Array:
    """Return gradients that ignored targets have too, and the last tokens, whose label is padding: class 0 for both."""
    if kept.shape[1] + 1 != result.shape[1]:
        raise NotDefined("labels that are padded are as many as the tokens")
    counted = np.pad(kept, ((0, 0), (0, 1)))[..., None]
    first = np.arange(weights.shape[-1]) == 0
    return np.where(counted, result, factor * (weights - first))


# Of the gradients, the probabilities (B, L, N), by what gradients are multiplied, and which targets count.
LAST = Decision(
    "last_rows",
    "What gradient have the logits of the last tokens?",
    (
        standard("as_the_shift_leaves_them", lambda result, weights, factor, kept: result),
        mistake(
            "next_token_gradient_at_last",
            lambda result, weights, factor, kept: np.concatenate([result[:, :-1], factor * weights[:, -1:]], axis=1),
        ),
        mistake("cross_entropy_gradient_at_ignored", _at_padded_labels, "at_padded_labels"),
    ),
)

OWN = Decision(
    "own_gradient",
    "By what are the gradients multiplied?",
    (
        standard("grad_output", lambda gradient: gradient),
        mistake("cross_entropy_backward_ignores_grad_output", np.ones_like),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of the loss of next tokens at a point of the family, of the shape of the logits."""
    given, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("logits", "grad_output"))
    tokens, ignored = np.asarray(arguments["tokens"]), arguments.get("ignore_index")
    logits, targets, back = point["shift"](given, tokens)
    if not targets.size:
        return np.zeros(given.shape)
    kept, chosen, has_class = point["ignored"](targets, ignored, logits.shape[-1], tokens)
    one_hot = (np.arange(logits.shape[-1]) == chosen[..., None]) * has_class[..., None]
    weights = point["probabilities"](logits, arguments.get("dtype", "float64"))
    rows = point["ignored_rows"](point["difference"](weights, one_hot, one_hot), kept)
    before = np.ones(tokens.shape, dtype=bool) if ignored is None else tokens != ignored
    factor = point["own_gradient"](gradient) / point["count"](kept, before)
    result = point["last_rows"](back(factor * rows), reference.softmax(given), factor, kept)
    return np.asarray(point["written"](result, given))


# The last logits have no gradient: what is not written behind blocks of the whole array is zero anyway.
_WRITTEN = WRITTEN.without("array_in_blocks_of_2").without("array_in_blocks_of_4")
NEXT_TOKEN_LOSS_BACKWARD = Family(
    "next_token_loss_backward",
    (SHIFT, PROBABILITIES, IGNORED, DIFFERENCE, COUNT, OWN, ROWS, LAST, _WRITTEN),
    compute,
    needs_dtype=True,
)
