"""Mistakes of a kernel that takes an array entry by entry: its blocks, and the grid of its numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard

# Of the result and the input.
Written = Callable[[Array, Array], Array]
# Two numbers in a register, as in packed half precision, and the widths of vector units.
_BLOCKS = (2, 4, 8, 16)


def _in_whole_blocks(shape: tuple[int, ...], block: int, *, flat: bool) -> Array:
    """Return which entries lie in a whole block, counted through the array or along its last axis."""
    size = int(np.prod(shape)) if flat else shape[-1]
    whole = np.arange(size) < size // block * block
    return whole.reshape(shape) if flat else np.broadcast_to(whole, shape)


def _zero_behind_blocks(block: int, *, flat: bool) -> Written:
    return lambda result, x: np.where(_in_whole_blocks(x.shape, block, flat=flat), result, 0.0)


def _untouched_behind_blocks(block: int) -> Written:
    return lambda result, x: np.where(_in_whole_blocks(x.shape, block, flat=True), result, x)


_TAIL = "block_tail_wrong"
WRITTEN = Decision(
    "written",
    "Which entries of the result are written?",
    (
        standard("all", lambda result, x: result),
        *(mistake(_TAIL, _zero_behind_blocks(b, flat=False), f"rows_in_blocks_of_{b}") for b in _BLOCKS),
        *(mistake(_TAIL, _zero_behind_blocks(b, flat=True), f"array_in_blocks_of_{b}") for b in _BLOCKS),
        *(mistake(_TAIL, _untouched_behind_blocks(b), f"in_place_in_blocks_of_{b}") for b in _BLOCKS),
    ),
)


def _in_steps_of_largest(steps: int) -> Callable[[Array], Array]:
    """Return x in whole steps; the largest entry of the array has a given number of them."""

    def quantised(x: Array) -> Array:
        step = np.abs(x).max(initial=0.0) / steps
        return np.asarray(np.round(x / step) * step) if step > 0 else x

    return quantised


_GRID = "activation_quantised_by_maximum"
GRID = Decision(
    "grid",
    "Which numbers does the function get?",
    (
        standard("as_given", lambda x: x),
        mistake(_GRID, _in_steps_of_largest(127), "127_steps_to_largest"),
        mistake(_GRID, _in_steps_of_largest(128), "128_steps_to_largest"),
        mistake(_GRID, _in_steps_of_largest(7), "7_steps_to_largest"),
    ),
)
