"""The positions of the rows that a rotary embedding turns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import NotDefined

Shape = tuple[int, ...]


def _rows(positions: Array) -> Array:
    """Return positions (L,) or (B, L) as they meet vectors (B, H, L, D): (1 or B, 1, L)."""
    return np.atleast_2d(positions)[:, None, :]


def _changed(change: Callable[[Array], Array]) -> Callable[[Array, Shape], Array]:
    """Return an option that changes each sample's positions, whatever the vectors' shape."""
    return lambda positions, shape: _rows(change(positions))


def _of_samples_from_zero(positions: Array) -> Array:
    return positions - positions[:, :1] if positions.ndim == 2 else positions


def _counted_along(axis: int) -> Callable[[Array, Shape], Array]:
    """Return an option that takes the index in an axis of the vectors for the position."""

    def counted(positions: Array, shape: Shape) -> Array:
        sizes = [1, 1, 1]
        sizes[axis] = shape[axis]
        return np.arange(shape[axis]).reshape(sizes)

    return counted


def _along_heads(positions: Array, shape: Shape) -> Array:
    """Return the given positions along the axis of heads, as where the layout (B, L, H, D) is assumed."""
    if shape[1] != shape[2] and shape[2] != 1:
        raise NotDefined
    return np.swapaxes(_rows(positions), 1, 2)


POSITIONS = Decision(
    "positions",
    "At which position does a row stand?",
    (
        standard("as_given", lambda positions, shape: _rows(positions)),
        mistake("rope_no_cache_offset", _counted_along(2)),
        mistake("rope_window_constant_position", _changed(lambda positions: positions[..., :1])),
        mistake("rope_positions_from_one", _changed(lambda positions: positions + 1)),
        mistake("pe_indexed_by_batch", _counted_along(0)),
        mistake("rope_on_head_axis", _counted_along(1)),
        mistake("rope_on_head_axis", _along_heads, "layout_of_heads_assumed"),
        mistake(
            "",
            _changed(lambda positions: positions - positions[..., :1]),
            name="positions_from_first_row",
            meaning="positions are counted from that of the first row, so that a cache's length is lost",
        ),
        mistake("sample_positions_from_zero", _changed(_of_samples_from_zero)),
        mistake(
            "",
            _changed(lambda positions: positions[..., -1:]),
            name="last_position_for_all",
            meaning="every row gets the position of the last",
        ),
        mistake(
            "",
            _changed(lambda positions: positions[..., ::-1]),
            name="rows_in_reverse",
            meaning="the positions are assigned to the rows in reverse",
        ),
        mistake(
            "",
            _changed(np.zeros_like),
            name="position_ignored",
            meaning="nothing turns: every row stands at position 0",
        ),
    ),
)

WHOSE_POSITIONS = Decision(
    "whose_positions",
    "Of which sample are the positions?",
    (
        standard("its_own", lambda positions: positions),
        mistake(
            "rope_positions_of_first_sample", lambda positions: positions[:1] if positions.ndim == 2 else positions
        ),
    ),
)

POSITION_AS_NUMBER = Decision(
    "position_as_number",
    "Which number does a position stand for in its angles?",
    (standard("itself", lambda positions: positions), mistake("rope_root_of_position", np.sqrt)),
)
