"""The family of ALiBi: the bias of the logits for the distance of two positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def _power_below(heads: int) -> int:
    return 1 << (heads.bit_length() - 1)


def _slopes(heads: int, first: Array, added: Array) -> Array:
    """Return 2^(−8 e) for the exponents of the first heads, a power of two, and of those added to them."""
    return np.exp2(-8.0 * np.concatenate([first, added])[:heads])


def _from_one(heads: int) -> Array:
    power = _power_below(heads)
    return _slopes(heads, np.arange(power) / power, 2 * np.arange(heads - power) / (2 * power))


def _skipping_first(heads: int) -> Array:
    power = _power_below(heads)
    return _slopes(heads, np.arange(1, power + 1) / power, (2 * np.arange(heads - power) + 2) / (2 * power))


def _continued(heads: int) -> Array:
    """Return the ratio of the power of two below, for all heads."""
    return np.exp2(-8.0 * np.arange(1, heads + 1) / _power_below(heads))


def _added_in_a_row(heads: int) -> Array:
    """Return the first of the slopes for twice as many heads, where every second is due."""
    power = _power_below(heads)
    return _slopes(heads, np.arange(1, power + 1) / power, np.arange(1, heads - power + 1) / (2 * power))


def _of_power_above(heads: int) -> Array:
    power = _power_below(heads)
    power = power if power == heads else 2 * power
    return np.exp2(-8.0 * np.arange(1, heads + 1) / power)


SLOPES = Decision(
    "slopes",
    "How steep is the bias of each head?",
    (
        standard("geometric", reference.alibi_slopes),
        mistake("alibi_slopes_non_pow2", lambda heads: np.exp2(-8.0 * np.arange(1, heads + 1) / heads)),
        mistake("alibi_first_slope_one", _from_one),
        mistake(
            "alibi_first_slope_one", lambda heads: np.exp2(-8.0 * np.arange(heads) / heads), "from_one_for_any_count"
        ),
        mistake("alibi_added_slopes_skip_first", _skipping_first),
        mistake(
            "",
            _continued,
            name="slopes_continued",
            meaning="heads beyond a power of two continue its slopes downwards instead of standing between them",
        ),
        mistake(
            "",
            _added_in_a_row,
            name="added_slopes_in_a_row",
            meaning="the added slopes are the first of those for twice as many heads, not every second",
        ),
        mistake(
            "",
            _of_power_above,
            name="slopes_of_power_above",
            meaning="the slopes are the first of those of the next power of two, for any other count of heads",
        ),
        mistake(
            "",
            lambda heads: reference.alibi_slopes(heads)[::-1],
            name="slopes_reversed",
            meaning="the slopes stand in the opposite order of the heads",
        ),
        mistake(
            "",
            np.ones,
            name="slopes_missing",
            meaning="every head has slope 1",
        ),
        mistake(
            "",
            lambda heads: np.full(heads, reference.alibi_slopes(heads)[0]),
            name="same_slope_for_all",
            meaning="every head has the slope of the first",
        ),
        mistake(
            "",
            lambda heads: np.exp2(-np.arange(1.0, heads + 1)),
            name="slopes_exponent_one",
            meaning="the slopes are 1/2, 1/4, 1/8, … for any count of heads, right for 8 heads only",
        ),
    ),
)

# The position of query r, of L queries and S keys.
ROWS = Decision(
    "rows",
    "At which positions do the queries stand?",
    (
        standard("the_last", lambda queries, keys: np.arange(queries) + (keys - queries)),
        mistake("relative_bias_ignores_cache", lambda queries, keys: np.arange(queries)),
        mistake("alibi_offset_by_one", lambda queries, keys: np.arange(queries) + (keys - queries) + 1),
        mistake(
            "alibi_offset_by_one",
            lambda queries, keys: np.arange(queries) + (keys - queries) - 1,
            "one_position_early",
        ),
        mistake(
            "",
            lambda queries, keys: np.full(queries, keys - 1),
            name="from_last_key",
            meaning="each query counts distances from the last key, which softmax cannot tell from the right bias",
        ),
        mistake(
            "",
            lambda queries, keys: np.zeros(queries, dtype=int),
            name="key_position_only",
            meaning="the slope multiplies the key's position, which softmax cannot tell from the right bias",
        ),
    ),
)


def _shifted(kept: slice, *, zero_behind: bool) -> Any:
    """Return the distances of the last query in every row, moved into place by reshaping, with a slice kept."""

    def table(distance: Array) -> Array:
        queries, keys = distance.shape
        row = np.arange(keys) - (keys - 1.0)
        pad = (0, 1) if zero_behind else (1, 0)
        padded = np.pad(np.broadcast_to(row, distance.shape), ((0, 0), pad))
        return np.asarray(padded.reshape(keys + 1, queries)[kept].reshape(queries, keys))

    return table


TABLE = Decision(
    "table",
    "How does the table of distances come about?",
    (
        standard("by_positions", lambda distance: distance),
        mistake("rel_shift_wrong", _shifted(slice(None, -1), zero_behind=False), "last_row_left_out"),
        mistake("rel_shift_wrong", _shifted(slice(1, None), zero_behind=True), "zero_behind_rows"),
        mistake("rel_shift_wrong", _shifted(slice(None, -1), zero_behind=True), "zero_behind_rows_last_left_out"),
    ),
)

# Of j − i, key position minus query position.
PENALTY = Decision(
    "penalty",
    "How does the bias depend on the distance?",
    (
        standard("linear", lambda distance: distance),
        mistake("alibi_sign_flipped", lambda distance: -distance),
        mistake("alibi_distance_magnitude", np.abs),
        mistake("alibi_distance_squared", lambda distance: -(distance**2)),
        mistake(
            "",
            lambda distance: -np.sqrt(np.abs(distance)),
            name="distance_rooted",
            meaning="the bias falls with the root of the distance",
        ),
        mistake(
            "",
            lambda distance: -np.log1p(np.abs(distance)),
            name="distance_logarithm",
            meaning="the bias falls with the logarithm of the distance",
        ),
    ),
)

# Of the penalties, the queries' positions and the number of keys.
LENGTH = Decision(
    "length",
    "Does the bias depend on a length?",
    (
        standard("no", lambda penalty, own, keys: penalty),
        mistake("alibi_distance_over_length", lambda penalty, own, keys: penalty / np.maximum(own + 1, 1)[:, None]),
        mistake("alibi_distance_over_length", lambda penalty, own, keys: penalty / keys, "over_number_of_keys"),
        mistake(
            "alibi_distance_over_length", lambda penalty, own, keys: penalty / max(keys - 1, 1), "over_largest_distance"
        ),
    ),
)


def _compute(arguments: Arguments, point: Point) -> Array:
    heads, queries, keys = (int(arguments[name]) for name in ("num_heads", "query_length", "key_length"))
    own = point["rows"](queries, keys)
    penalty = point["penalty"](point["table"](np.arange(keys)[None, :] - own[:, None]))
    return np.asarray(point["slopes"](heads)[:, None, None] * point["length"](penalty, own, keys))


ALIBI = Family("alibi", (SLOPES, ROWS, TABLE, PENALTY, LENGTH), _compute)
