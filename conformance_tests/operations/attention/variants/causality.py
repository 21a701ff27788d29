"""Decisions about which keys a query sees: the causal flag, the window, and how they meet the mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.masks import Scores, filled
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments
from veriformer.reference.windows import Window

CAUSAL_ALIGNMENT = Decision(
    "causal_alignment",
    "Which keys does the causal flag show when L ≠ S?",
    (
        standard("top_left", lambda queries, keys: 0, "causal_top_left_vs_bottom_right"),
        convention("bottom_right", lambda queries, keys: keys - queries, "causal_top_left_vs_bottom_right"),
    ),
    convention="causal_alignment",
)

CAUSAL_DIAGONAL = Decision(
    "causal_diagonal",
    "Which of the keys around its own position does a query see under the causal flag?",
    (
        standard("own_position_last", lambda distance: distance >= 0),
        mistake("causal_diagonal_off_by_one", lambda distance: distance >= -1),
        mistake("causal_mask_excludes_self", lambda distance: distance > 0),
        mistake("causal_mask_transposed", lambda distance: distance <= 0),
        mistake(
            "causal_mask_transposed",
            lambda distance: distance < 0,
            "causal_mask_negated",
            "the causal mask is negated: each query sees the later keys alone, and not its own",
        ),
    ),
)


def _without(arguments: Arguments, *names: str) -> Arguments:
    return {name: value for name, value in arguments.items() if name not in names}


def _where_they_meet(*dropped: str, beside: Sequence[str] = ("mask", "bias")) -> Callable[[Arguments], Arguments]:
    """Return the arguments that remain in an implementation that drops some when causal flag and mask meet."""

    def kept(arguments: Arguments) -> Arguments:
        meet = arguments.get("is_causal") and any(arguments.get(name) is not None for name in beside)
        return _without(arguments, *dropped) if meet else arguments

    return kept


CAUSAL_BESIDE_MASK = Decision(
    "causal_beside_mask",
    "What happens when a mask (or bias) and the causal flag are given together?",
    (
        standard("intersect", lambda arguments: arguments),
        convention("mask_ignored", _where_they_meet("mask", "bias"), "is_causal_hint_trusted_over_mask"),
        convention("causal_ignored", _where_they_meet("is_causal"), "padding_mask_replaces_causal"),
        mistake("is_causal_hint_trusted_over_mask", _where_they_meet("mask"), "mask_alone_ignored"),
        mistake(
            "padding_mask_replaces_causal",
            _where_they_meet("is_causal", beside=("mask",)),
            "causal_alone_ignored",
        ),
        neighbour(
            "causal_ignored_beside_bias",
            _where_they_meet("is_causal", beside=("bias",)),
            "the causal flag is dropped where a bias is given",
        ),
    ),
    convention="causal_with_mask",
)


def _asked(arguments: Arguments) -> bool:
    return bool(arguments.get("is_causal"))


def _asked_and(condition: Callable[[Arguments, int, int], Any]) -> Callable[[Arguments, int, int], bool]:
    return lambda arguments, queries, keys: _asked(arguments) and bool(condition(arguments, queries, keys))


def _window_is_limited(arguments: Arguments, queries: int, keys: int) -> bool:
    left = (arguments.get("window") or (None,))[0]
    return not left or left < keys


def _masks_nothing(arguments: Arguments) -> bool:
    mask = arguments.get("mask")
    return mask is None or bool(np.all(mask))


CAUSAL_WHEN = Decision(
    "causal_when",
    "When is attention causal?",
    (
        standard("when_asked", lambda arguments, *_: _asked(arguments)),
        mistake("decoder_not_causal", lambda *_: False),
        mistake("causal_dropped_when_lengths_differ", _asked_and(lambda _, queries, keys: queries == keys)),
        mistake("causal_dropped_without_explicit_mask", _asked_and(lambda a, *_: a.get("mask") is not None)),
        mistake("causal_dropped_when_window_disabled", _asked_and(_window_is_limited), "dropped_in_wide_window"),
        mistake(
            "causal_dropped_when_window_disabled",
            _asked_and(lambda arguments, *_: arguments.get("window") is None),
            "dropped_in_any_window",
        ),
        mistake(
            "encoder_made_causal",
            lambda arguments, *_: _asked(arguments) or arguments.get("mask") is None,
            "also_without_mask",
        ),
        mistake(
            "encoder_made_causal",
            lambda arguments, *_: _asked(arguments) or _masks_nothing(arguments),
            "also_where_nothing_is_masked",
        ),
        mistake("encoder_made_causal", lambda *_: True, "always"),
        neighbour(
            "dropped_for_one_query", _asked_and(lambda _, queries, keys: queries > 1), "a single query sees every key"
        ),
    ),
)


def _selected(scores: Scores, shown: Array) -> Scores:
    return scores.showing(shown)


def _offset_by_one(scores: Scores, shown: Array) -> Scores:
    return scores.changed(scores.logits + 1.0).showing(shown)


CAUSAL_USE = Decision(
    "causal_use",
    "What is done with the keys that causality hides?",
    (
        standard("left_out", _selected),
        mistake("causal_mask_additive_offset_one", _offset_by_one),
        mistake(
            "mask_multiplied_after_softmax_no_renorm",
            lambda scores, shown: scores.gated(np.broadcast_to(shown, scores.logits.shape)),
        ),
        mistake(
            "finite_mask_beaten_by_logits",
            lambda scores, shown: scores.changed(np.where(shown, scores.logits, -1e4)),
        ),
        neighbour(
            "logits_multiplied",
            lambda scores, shown: scores.changed(np.where(shown, scores.logits, 0.0)),
            "later keys get the logit 0 instead of −∞",
        ),
        filled(),
    ),
)


def _value_of_convention(*_: Any) -> None:
    """A placeholder for an option of which only the name matters."""


WINDOW_COUNTING = Decision(
    "window_counting",
    "How many keys does a sliding window of w show to the left?",
    (
        standard("inclusive", _value_of_convention, "sliding_window_off_by_one"),
        convention("exclusive", _value_of_convention, "sliding_window_off_by_one"),
    ),
    convention="window_counting",
)

Near = Callable[[Array, int, Window, Any], Array]


def _standard_window(own: Array, keys: int, window: Window, counting: Any) -> Array:
    if counting == "exclusive" and window[0] == 0:
        # The reference refuses a window without the query's own key; by the formula it shows p + 1 ≤ j.
        return _standard_window(own, keys, (None, window[1]), counting) & (np.arange(keys) > own[:, None])
    return reference.within_window(own, np.arange(keys), window, counting)


def _limit(side: int | None) -> int | None:
    return None if side is None or side == -1 else side


def _with_sides(change: Callable[[int | None, int | None], Window]) -> Near:
    def near(own: Array, keys: int, window: Window, counting: Any) -> Array:
        return _standard_window(own, keys, change(*map(_limit, window)), counting)

    return near


def _one_more(side: int | None) -> int | None:
    return None if side is None else side + 1


def _left_bound_on_the_right(own: Array, keys: int, window: Window, counting: Any) -> Array:
    left, right = map(_limit, window)
    shown = _standard_window(own, keys, (None, right), counting)
    return shown if left is None else shown & (np.arange(keys) <= own[:, None] + left)


def _left_bound_read_negative(own: Array, keys: int, window: Window, counting: Any) -> Array:
    """Apply the left side only where it is not positive: −1, meant as no limit, is taken as a number then."""
    left, right = window
    shown = _standard_window(own, keys, (None, right), counting)
    return shown if left is None or left > 0 else shown & (np.arange(keys) >= own[:, None] - left)


def _cut_to_last(own: Array, keys: int, window: Window, counting: Any) -> Array:
    shown, left = _standard_window(own, keys, window, counting), _limit(window[0])
    first = 0 if left is None else keys - left - (0 if counting == "exclusive" else 1)
    return shown & (np.arange(keys) >= first)


def _from_the_other_end(own: Array, keys: int, window: Window, counting: Any) -> Array:
    aligned_to_first = own.size == 0 or own[0] == 0
    offset = keys - own.size
    return _standard_window(own + offset if aligned_to_first else own - offset, keys, window, counting)


def _only_in_first_pass(own: Array, keys: int, window: Window, counting: Any) -> Array:
    """Omit the window if keys of a cache precede those of the queries: it should have dropped the old ones."""
    return _standard_window(own, keys, window if own.size == keys else (None, None), counting)


WINDOW = Decision(
    "window",
    "Which keys does a sliding window show?",
    (
        standard("both_sides", _standard_window),
        mistake(
            "sliding_window_off_by_one", _with_sides(lambda left, right: (_one_more(left), right)), "one_more_left"
        ),
        mistake(
            "sliding_window_off_by_one", _with_sides(lambda left, right: (left, _one_more(right))), "one_more_right"
        ),
        mistake("sliding_window_wrong_sign", _left_bound_on_the_right, "left_bound_on_the_right"),
        mistake("sliding_window_wrong_sign", _with_sides(lambda left, right: (None, right)), "left_unlimited"),
        mistake("sliding_window_wrong_sign", _left_bound_read_negative, "left_read_negative"),
        mistake("window_right_side_unlimited", _with_sides(lambda left, right: (left, None))),
        mistake("window_counted_from_the_end", _from_the_other_end),
        mistake("window_prefill_truncates_keys", _cut_to_last),
        mistake("cache_not_evicted", _only_in_first_pass),
        neighbour("ignored", _with_sides(lambda left, right: (None, None)), "the window is accepted and not used"),
        neighbour("sides_swapped", _with_sides(lambda left, right: (right, left)), "left and right are exchanged"),
        neighbour("left_on_both_sides", _with_sides(lambda left, right: (left, left)), "the left side counts for both"),
    ),
)
