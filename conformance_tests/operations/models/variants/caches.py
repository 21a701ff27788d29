"""The cache of decoding, and its mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.layers.variants.masks import CAUSAL_MISTAKES, PADDING, Mask, by_distance
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard

Causality = Callable[[int, int], Array]


@dataclass(frozen=True)
class Seen:
    """The keys and values of one call: those of all heads so far, and which of them each query sees."""

    key: Array
    value: Array
    visible: Mask


def _lags(queries: int, past: int) -> Array:
    return past + np.arange(queries)[:, None] - np.arange(past + queries)


def _first_keys_only(counted: str) -> Causality:
    """Return causality among the keys that are counted before those of the call itself are written."""

    def mask(queries: int, past: int) -> Array:
        keys = past + queries
        valid = {"at_least_one": max(past, 1), "prefill_right": past or keys, "none": past}[counted]
        return (_lags(queries, past) >= 0) & (np.arange(keys) < valid)

    return mask


def _window_leaks(block: int) -> Causality:
    return lambda queries, past: (
        np.ones((queries, past + queries), dtype=bool) if past >= block else _lags(queries, past) >= 0
    )


def _blocks_leak(block: int) -> Causality:
    def mask(queries: int, past: int) -> Array:
        if past < block:
            return _lags(queries, past) >= 0
        rows, columns = past + np.arange(queries)[:, None], np.arange(past + queries)
        return columns // block <= rows // block

    return mask


_BLOCKS = (2, 3, 4)
CAUSALITY_IN_CHAIN = Decision(
    "causality",
    "Which of the keys so far does a query see?",
    (
        standard("none_later", by_distance(lambda distance: distance >= 0)),
        *CAUSAL_MISTAKES,
        mistake(
            "causal_mask_not_offset_by_cache",
            lambda queries, past: np.tri(queries, past + queries, dtype=bool),
        ),
        mistake("cache_valid_length_off_by_one", _first_keys_only("at_least_one")),
        mistake("cache_valid_length_off_by_one", _first_keys_only("prefill_right"), name="own_keys_hidden_in_chain"),
        mistake("cache_valid_length_off_by_one", _first_keys_only("none"), name="own_keys_hidden"),
        mistake("chunked_prefill_mask_leak", _window_leaks(1), name="window_leaks_behind_a_cache"),
        *(mistake("chunked_prefill_mask_leak", _window_leaks(b), name=f"window_leaks_behind_{b}") for b in _BLOCKS),
        *(mistake("chunked_prefill_mask_leak", _blocks_leak(b), name=f"blocks_of_{b}_leak") for b in _BLOCKS),
    ),
)
ROTARY_START = Decision(
    "rotary_start",
    "Which position does the first token of a call have?",
    (
        standard("as_many_as_went_before", lambda past, queries, layer, prompt: past),
        mistake("rope_no_cache_offset", lambda past, queries, layer, prompt: 0),
        mistake("rope_offset_wrong_increment", lambda past, queries, layer, prompt: 2 * past),
        mistake(
            "rope_offset_wrong_increment",
            lambda past, queries, layer, prompt: past + prompt,
            name="prompt_counted_twice",
        ),
        mistake(
            "rope_offset_wrong_increment",
            lambda past, queries, layer, prompt: past + queries * (layer > 0),
            name="counter_moved_by_first_layer",
        ),
        mistake(
            "rope_offset_wrong_increment",
            lambda past, queries, layer, prompt: past + (past > 0),
            name="one_too_far_behind_a_cache",
        ),
        mistake(
            "rope_offset_wrong_increment",
            lambda past, queries, layer, prompt: max(past - 1, 0),
            name="one_too_few_behind_a_cache",
        ),
    ),
)


def _kept(rows: Callable[[Array, int, int], Array]) -> Callable[[Array, int], Array]:
    """Return what is written of keys or values where `rows` of them are: the others stay zero."""

    def write(heads: Array, past: int) -> Array:
        number = np.arange(heads.shape[2])
        written = rows(number, past, heads.shape[2])
        return np.where(written[:, None], heads, 0.0)

    return write


CACHE_WRITE = Decision(
    "cache_write",
    "What does a call leave in the cache?",
    (
        standard("all_so_far", lambda heads, past: heads),
        mistake("cache_writes_only_one_token", _kept(lambda number, past, end: number <= past)),
        mistake(
            "cache_writes_only_one_token",
            _kept(lambda number, past, end: (number < past) | (number == end - 1)),
            name="last_token_only",
        ),
        mistake("prefill_skips_tokens", _kept(lambda number, past, end: number < max(past + 1, end - 1))),
        mistake(
            "prefill_skips_tokens",
            _kept(lambda number, past, end: (number != past) | (end == past + 1)),
            name="first_token_skipped",
        ),
        mistake("ring_cache_index_wrong", lambda heads, past: heads[:, :, 1:] if past else heads),
        mistake(
            "",
            lambda heads, past: heads[:, :, past:],
            name="cache_overwritten",
            meaning="a call leaves its own keys and values in the cache instead of all so far",
        ),
        mistake(
            "",
            lambda heads, past: heads[:, :, :past] if past else heads,
            name="prompt_only_cached",
            meaning="only the first call writes its keys and values into the cache",
        ),
    ),
)


def _empty_slots(everywhere: bool, all_of_them: bool, fill: float) -> Callable[[Seen, int, int], Seen]:
    def attend(seen: Seen, past: int, room: int) -> Seen:
        if not (past or everywhere):
            return seen
        count = max(room - seen.key.shape[2], 0) if all_of_them else 1
        pads = ((0, 0), (0, 0), (0, count), (0, 0))
        key, value = (np.pad(part, pads, constant_values=fill) for part in (seen.key, seen.value))
        visible = seen.visible
        if visible is not None:
            visible = np.pad(visible, (*((0, 0),) * (visible.ndim - 1), (0, count)), constant_values=True)
        return Seen(key, value, visible)

    return attend


EMPTY_SLOTS = Decision(
    "empty_slots",
    "What does attention see of slots of the cache that nothing was written to?",
    (
        standard("nothing", lambda seen, past, room: seen),
        mistake("decode_cache_mask_discarded", _empty_slots(True, True, 0.0)),
        mistake("decode_cache_mask_discarded", _empty_slots(False, True, 0.0), name="empty_slots_behind_a_cache"),
        mistake("decode_cache_mask_discarded", _empty_slots(True, False, 0.0), name="one_empty_slot"),
        mistake("decode_cache_mask_discarded", _empty_slots(False, False, 0.0), name="one_empty_slot_behind_a_cache"),
        mistake("cache_unmasked_garbage", _empty_slots(True, False, np.nan)),
        mistake("cache_unmasked_garbage", _empty_slots(False, False, np.nan), name="garbage_behind_a_cache"),
    ),
)


def _past_shown(padding: Mask, queries: int) -> Mask:
    """Return a mask that hides padding of the call itself alone: what the cache holds is seen."""
    if padding is None:
        return None
    shown = padding.copy()
    shown[:, : padding.shape[1] - queries] = True
    return shown[:, None, None, :]


def _own_shown(padding: Mask, queries: int) -> Mask:
    if padding is None:
        return None
    shown = padding.copy()
    shown[:, padding.shape[1] - queries :] = True
    return shown[:, None, None, :]


def _first_columns(padding: Mask, queries: int) -> Mask:
    """Return a mask that reads its first columns as those of the call itself, and shows what the cache holds."""
    if padding is None:
        return None
    shown = np.ones_like(padding)
    shown[:, padding.shape[1] - queries :] = padding[:, :queries]
    return shown[:, None, None, :]


PADDING_IN_CHAIN = replace(
    PADDING,
    options=(
        *PADDING.options,
        mistake("cached_padding_visible", _past_shown),
        mistake("cached_padding_visible", _first_columns, name="first_columns_taken_for_own"),
        mistake("", _own_shown, name="own_padding_visible", meaning="padding among the call's own tokens is seen"),
    ),
)

# Of the positions given and those counted: None stands for the counted ones.
POSITIONS_GIVEN = Decision(
    "positions_given",
    "What becomes of explicit positions?",
    (
        standard("taken", lambda given, past: given),
        mistake("decoding_positions_ignored", lambda given, past: None),
        mistake("decoding_positions_counted_on", lambda given, past: given + past),
        mistake("decoding_positions_of_first_sample", lambda given, past: given[0] if given.ndim == 2 else given),
        mistake(
            "decoding_positions_counted_on",
            lambda given, past: given[..., :1] + np.arange(given.shape[-1]),
            name="counted_on_from_the_first",
        ),
    ),
)
