"""The order of the keys: all at once, or block by block with an online softmax.

Fused kernels and sharded attention take a block of keys at a time. Scale, positions, the keys of a block and sums are
separate decisions, which can go wrong together. The block's size is not known from outside, so every mistake has an
option for each usual size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.masks import Scores
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, standard
from veriformer.conformance_tests.variants.precision import HALVES, in_range, rounded_to

# From logits, what is visible, the convention of empty rows and the dtype of the call.
Weights = Callable[[Array, Array, Any, str], Array]
# From logits, what is visible, the values and the dtype of the call.
Output = Callable[[Array, Array, Array, str], Array]


@dataclass(frozen=True)
class Sums:
    """The replacement of softmax, or of softmax and the average of the values; None if there is none."""

    weights: Weights | None = None
    output: Output | None = None


class Blocks(NamedTuple):
    """The visible logits cut into blocks, (..., blocks, size), −∞ behind the last key, and the bases of exponentials.

    `base` is the largest logit up to each block, `last` that of the row; 0 where nothing has been visible.
    """

    logits: Array
    base: Array
    last: Array


def _cut(logits: Array, visible: Array, size: int) -> Array:
    shown = np.where(visible, logits, -np.inf)
    keys = shown.shape[-1]
    behind = [(0, 0)] * (shown.ndim - 1) + [(0, -keys % size)]
    whole = np.pad(shown, behind, constant_values=-np.inf)
    return whole.reshape(*shown.shape[:-1], -1, size)


def _or_zero(highest: Array) -> Array:
    return np.where(np.isneginf(highest), 0.0, highest)


def _blocks(logits: Array, visible: Array, size: int) -> Blocks:
    cut = _cut(logits, visible, size)
    running = np.maximum.accumulate(cut.max(axis=-1, keepdims=True, initial=-np.inf), axis=-2)
    base = _or_zero(running)
    return Blocks(cut, base, base[..., -1:, :])


def _divided(parts: Array, total: Array, keys: int, empty_row: str) -> Array:
    """Return the blocks joined again, over their total; `empty_row` says what replaces a total of 0."""
    row = parts.reshape(*parts.shape[:-2], -1)[..., :keys]
    weights = row / np.where(total == 0.0, 1.0, total)
    otherwise = {"zeros": 0.0, "nan": np.nan, "mean_of_values": 1.0 / max(keys, 1)}[empty_row]
    return np.asarray(np.where(total == 0.0, otherwise, weights))


def _summed(parts: Array) -> Array:
    return np.asarray(parts.sum(axis=(-1, -2))[..., None])


def _unless_without_keys(weights: Weights) -> Weights:
    def of(logits: Array, visible: Array, empty_row: Any, dtype: str) -> Array:
        if logits.shape[-1] == 0:
            return reference.masked_softmax(logits, visible, empty_row)
        return weights(logits, visible, empty_row, dtype)

    return of


def _not_rescaled(what: Literal["output", "total"], size: int) -> Weights:
    """Return weights where one of the two stays relative to the largest logit up to each block, not to the last."""

    def weights(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        blocks = _blocks(logits, visible, size)
        left, brought = (np.exp(blocks.logits - base) for base in (blocks.base, blocks.last))
        output, total = (left, brought) if what == "output" else (brought, left)
        return _divided(output, _summed(total), logits.shape[-1], empty_row)

    return weights


def _maximum_of_block(size: int) -> Output:
    """Return the average relative to the last block's maximum, which may leave the range of the dtype on the way.

    In exact arithmetic nothing is wrong with it, except where a whole block is hidden: its maximum is −∞, and what
    was added up before is multiplied by e^−∞.
    """

    def output(logits: Array, visible: Array, value: Array, dtype: str) -> Array:
        cut = _cut(logits, visible, size)
        highest = np.full((*cut.shape[:-2], 1), -np.inf)
        total, average = np.zeros_like(highest), np.zeros((*cut.shape[:-2], value.shape[-1]))
        for block in range(cut.shape[-2]):
            shown = cut[..., block, :][..., : logits.shape[-1] - block * size]
            raised = shown.max(axis=-1, keepdims=True)
            base = _or_zero(raised)
            correction, exponentials = in_range(np.exp(highest - base), dtype), np.exp(shown - base)
            total = in_range(total * correction + exponentials.sum(axis=-1, keepdims=True), dtype)
            of_block = exponentials @ value[..., block * size : (block + 1) * size, :]
            average, highest = in_range(average * correction + of_block, dtype), raised
        return np.asarray(average / np.where(total == 0.0, 1.0, total))

    return output


def _padding_visible(size: int) -> Weights:
    """Return weights with the zeros that fill up the last block: keys of logit 0, whose values are zero."""

    def weights(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        missing = -logits.shape[-1] % size
        if not missing:
            return reference.masked_softmax(logits, visible, empty_row)
        return reference.softmax_beside_sinks(logits, visible, np.full(logits.shape[1], math.log(missing)))

    return weights


def _padding_beside_maximum(size: int) -> Weights:
    """Return the same weights with a maximum that omits the padding: e to its distance may overflow.

    Without padding too, for 0 · ∞ is not a number.
    """

    def weights(logits: Array, visible: Array, empty_row: Any, dtype: str) -> Array:
        blocks = _blocks(logits, visible, size)
        exponentials = np.exp(blocks.logits - blocks.last)
        of_padding = -logits.shape[-1] % size * in_range(np.exp(-blocks.last[..., 0]), dtype)
        return _divided(exponentials, _summed(exponentials) + of_padding, logits.shape[-1], empty_row)

    return weights


def _rounded_exponentials(rounded: Callable[[Array], Array], size: int | None = None) -> Weights:
    """Return weights whose exponentials are rounded before they weigh values, but not in the total.

    The rounded numbers are relative to the largest logit so far, so that blocks change them.
    """

    def weights(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        blocks = _blocks(logits, visible, size or logits.shape[-1])
        total = _summed(np.exp(blocks.logits - blocks.last))
        exponentials = rounded(np.exp(blocks.logits - blocks.base))
        return _divided(exponentials * np.exp(blocks.base - blocks.last), total, logits.shape[-1], empty_row)

    return weights


def _within(limit: Callable[[int], int]) -> Callable[[Scores], Scores]:
    """Return the visibility of only the keys before a limit, which depends on their number."""

    def shown(scores: Scores) -> Scores:
        keys = scores.logits.shape[-1]
        return scores.showing(np.arange(keys) < limit(keys))

    return shown


def _tail_dropped(size: int) -> Callable[[Scores], Scores]:
    return _within(lambda keys: keys - keys % size)


def _tail_dropped_unless_alone(size: int) -> Callable[[Scores], Scores]:
    return _within(lambda keys: keys - keys % size if keys > size else keys)


def _whole_last_block_dropped(size: int) -> Callable[[Scores], Scores]:
    """The last block's length is taken to be the rest of a division by the size: 0 where the block is whole."""
    return _within(lambda keys: keys if keys % size else keys - size)


def _tail_read_twice(size: int) -> Callable[[Scores], Scores]:
    """The last block begins a whole block before the end; keys that the block before has too count twice."""

    def shown(scores: Scores) -> Scores:
        keys = scores.logits.shape[-1]
        place = np.arange(keys)
        twice = (place >= keys - size) & (place < keys - keys % size) & (keys % size > 0)
        return scores.changed(scores.logits + np.where(twice, math.log(2.0), 0.0))

    return shown


def _compounding(size: int, factor: float) -> Callable[[Array], Array]:
    def keys(key: Array) -> Array:
        return np.asarray(key * factor ** (np.arange(key.shape[-2]) // size)[:, None])

    return keys


def _local(size: int) -> Callable[[int], Array]:
    return lambda keys: np.arange(keys) % size


_CARRIED: tuple[Literal["output", "total"], ...] = ("output", "total")
# Kernels multiply the scale by log₂ e, in order to raise 2 to the logits; once is enough.
_BASE_CHANGE = math.log2(math.e)
# No case is longer: larger blocks show only because a sequence has no whole one.
_SIZES = (2, 4, 8, 16, 32, 64)
_LARGEST = 128


def _of_each_size(slug: str, apply: Callable[[int], Any], name: str = "") -> Iterator[Option]:
    for size in _SIZES:
        yield mistake(slug, apply(size), f"{name or slug}_of_{size}")


BLOCK_SCALE = Decision(
    "block_scale",
    "With which scale do the keys of later blocks meet the queries?",
    (
        standard("the_same", lambda key: key),
        *_of_each_size("scale_compounds_per_block", lambda size: _compounding(size, _BASE_CHANGE)),
    ),
)

BLOCK_PLACES = Decision(
    "block_places",
    "For which positions do causality and windows take the keys of later blocks?",
    (standard("in_the_sequence", np.arange), *_of_each_size("causal_offset_ignored_across_shards", _local)),
)

BLOCKS = Decision(
    "blocks",
    "Which keys do the blocks hold?",
    (
        standard("each_once", lambda scores: scores),
        *_of_each_size("block_tail_dropped", _tail_dropped),
        mistake("block_tail_dropped", _tail_dropped(_LARGEST), f"block_tail_dropped_of_{_LARGEST}"),
        *_of_each_size("block_tail_dropped", _tail_dropped_unless_alone, "block_tail_dropped_unless_alone"),
        *_of_each_size("block_tail_read_twice", _tail_read_twice),
        *_of_each_size("chunked_local_length_edge", _whole_last_block_dropped),
    ),
)


def _summed_as(sums: Sums) -> Callable[[], Sums]:
    return lambda: sums


def _by_weights(weights: Weights) -> Callable[[], Sums]:
    return _summed_as(Sums(weights=_unless_without_keys(weights)))


def _in_blocks(weights: Callable[[int], Weights], size: int) -> Callable[[], Sums]:
    return _by_weights(weights(size))


def _with_padding() -> Iterator[Option]:
    slug = "block_tail_padding_visible"
    for size in (*_SIZES, _LARGEST):
        yield mistake(slug, _by_weights(_padding_visible(size)), f"{slug}_of_{size}")
        yield mistake(slug, _by_weights(_padding_beside_maximum(size)), f"block_tail_padding_beside_maximum_of_{size}")


def _not_brought_up_to_date() -> Iterator[Option]:
    for what in _CARRIED:
        weights = partial(_not_rescaled, what)
        yield from _of_each_size(f"online_softmax_{what}_not_rescaled", partial(_in_blocks, weights))


def _rounded() -> Iterator[Option]:
    slug = "weights_rounded_to_half"
    for dtype in HALVES:
        rounded = partial(rounded_to, dtype)
        yield mistake(slug, _by_weights(_rounded_exponentials(rounded)), f"exponentials_in_{dtype}")
        in_blocks = partial(_in_blocks, partial(_rounded_exponentials, rounded))
        yield from _of_each_size(slug, in_blocks, f"exponentials_in_{dtype}_in_blocks")


BLOCK_SUMS = Decision(
    "block_sums",
    "How are the sums over blocks brought up to date?",
    (
        standard("all_at_once", _summed_as(Sums())),
        *_rounded(),
        *_with_padding(),
        *_of_each_size(
            "online_softmax_maximum_of_block", lambda size: _summed_as(Sums(output=_maximum_of_block(size)))
        ),
        *_not_brought_up_to_date(),
    ),
)
