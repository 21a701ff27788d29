"""How the keys are gone through: all at once, or block by block with a softmax that is brought up to date.

Fused kernels and sharded attention take a block of keys at a time. The block's size is not known from outside, so
every mistake has an option for each usual size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.families.attention_masks import Scores
from veriformer.conformance_tests.families.decision import Decision, Option, mistake, standard
from veriformer.conformance_tests.families.family import Array
from veriformer.conformance_tests.families.precision import HALVES, in_range, rounded_to

# From logits, what is visible, the convention of empty rows and the dtype of the call.
Weights = Callable[[Array, Array, Any, str], Array]
# From logits, what is visible, the values and the dtype of the call.
Output = Callable[[Array, Array, Array, str], Array]


@dataclass(frozen=True)
class Passage:
    """What another way through the keys changes; each part is None where nothing changes.

    `keys` are the keys as they are multiplied with queries, `places` the positions that causality and windows take
    keys for, `shown` the scores that the pass meets, `weights` what stands for softmax, `output` what stands for
    softmax and the average.
    """

    keys: Callable[[Array], Array] | None = None
    places: Callable[[int], Array] | None = None
    shown: Callable[[Scores], Scores] | None = None
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
    """Return the blocks in a row again, over their total; `empty_row` says what stands where that is 0."""
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


def _not_rescaled(size: int, what: Literal["output", "total"]) -> Weights:
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
    """Return weights beside the zeros that fill up the last block: keys of logit 0, whose values are zero."""

    def weights(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        missing = -logits.shape[-1] % size
        if not missing:
            return reference.masked_softmax(logits, visible, empty_row)
        return reference.softmax_beside_sinks(logits, visible, np.full(logits.shape[1], math.log(missing)))

    return weights


def _padding_beside_maximum(size: int) -> Weights:
    """Return the same weights where the maximum leaves the padding out: e to its distance may overflow.

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

    What is rounded is relative to the largest logit so far: with blocks another number than without.
    """

    def weights(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        blocks = _blocks(logits, visible, size or logits.shape[-1])
        total = _summed(np.exp(blocks.logits - blocks.last))
        exponentials = rounded(np.exp(blocks.logits - blocks.base))
        return _divided(exponentials * np.exp(blocks.base - blocks.last), total, logits.shape[-1], empty_row)

    return weights


def _within(limit: Callable[[int], int]) -> Callable[[Scores], Scores]:
    """Return what shows the keys in front of a limit alone, which depends on how many there are."""

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
# Beyond these lengths no case goes: larger blocks show only in that a sequence has no whole one.
_SIZES = (2, 4, 8, 16, 32, 64)
_LARGEST = 128


def _always(passage: Passage) -> Callable[[], Passage]:
    return lambda: passage


def _named(slug: str, size: int, passage: Passage, name: str = "") -> Option:
    return mistake(slug, _always(passage), f"{name or slug}_of_{size}")


def _rounding(dtype: str, size: int | None = None) -> Passage:
    return Passage(weights=_unless_without_keys(_rounded_exponentials(partial(rounded_to, dtype), size)))


def _of_size(size: int) -> Iterator[Option]:
    """Yield the mistakes with blocks of a size."""
    yield _named("block_tail_dropped", size, Passage(shown=_tail_dropped(size)))
    yield _named("block_tail_padding_visible", size, Passage(weights=_unless_without_keys(_padding_visible(size))))
    beside = Passage(weights=_unless_without_keys(_padding_beside_maximum(size)))
    yield _named("block_tail_padding_visible", size, beside, "block_tail_padding_beside_maximum")
    if size == _LARGEST:
        return
    alone = Passage(shown=_tail_dropped_unless_alone(size))
    yield _named("block_tail_dropped", size, alone, "block_tail_dropped_unless_alone")
    yield _named("block_tail_read_twice", size, Passage(shown=_tail_read_twice(size)))
    yield _named("chunked_local_length_edge", size, Passage(shown=_whole_last_block_dropped(size)))
    yield _named("causal_offset_ignored_across_shards", size, Passage(places=_local(size)))
    yield _named("scale_compounds_per_block", size, Passage(keys=_compounding(size, _BASE_CHANGE)))
    yield _named("online_softmax_maximum_of_block", size, Passage(output=_maximum_of_block(size)))
    for what in _CARRIED:
        wrong = Passage(weights=_unless_without_keys(_not_rescaled(size, what)))
        yield _named(f"online_softmax_{what}_not_rescaled", size, wrong)
    for dtype in HALVES:
        yield _named("weights_rounded_to_half", size, _rounding(dtype, size), f"exponentials_in_{dtype}_in_blocks")


BLOCKS = Decision(
    "blocks",
    "How are the keys gone through?",
    (
        standard("all_at_once", _always(Passage())),
        *(
            mistake("weights_rounded_to_half", _always(_rounding(dtype)), f"exponentials_in_{dtype}")
            for dtype in HALVES
        ),
        *(option for size in (*_SIZES, _LARGEST) for option in _of_size(size)),
    ),
)


def _changes_only_what_is_seen(option: Option) -> bool:
    passage: Passage = option.apply()
    return replace(passage, places=None, shown=None) == Passage()


# Of a pass that differs in what it sees alone, the derivative is that of the formula.
BLOCKS_WITH_USUAL_DERIVATIVE = replace(BLOCKS, options=tuple(filter(_changes_only_what_is_seen, BLOCKS.options)))
