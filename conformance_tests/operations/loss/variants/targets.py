"""The target of a position of a loss, the positions that count, and the class that judges each."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import NotDefined

_SHIFTED_AGAIN = "targets_shifted_again"


def _shifted(logits: Array, targets: Array) -> tuple[Array, Array]:
    """Return each position with the next one's target: for a single position nothing, whose mean is no number."""
    return logits[:, :-1], targets[:, 1:]


def _next_in_row(of_positions: Array) -> Array:
    return np.roll(of_positions, -1, axis=1)


def _next_in_batch(of_positions: Array) -> Array:
    return np.roll(of_positions, -1)


ALIGNMENT = Decision(
    "alignment",
    "Which target does a position have?",
    (
        standard("its_own", lambda logits, targets: (logits, targets)),
        mistake(_SHIFTED_AGAIN, _shifted),
        mistake(_SHIFTED_AGAIN, lambda logits, targets: (logits, _next_in_row(targets)), "rolled_in_rows"),
        mistake(_SHIFTED_AGAIN, lambda logits, targets: (logits, _next_in_batch(targets)), "rolled_through_batch"),
    ),
)

# Which positions count, their classes, and 0 where a position has none.
Targets = tuple[Array, Array, Array]


def _counted(kept: Array, targets: Array, classes: int) -> Targets:
    """Return what is kept; what is no class has no target's part."""
    valid = (targets >= 0) & (targets < classes)
    return kept, np.where(valid, targets, 0), valid.astype(np.float64)


def _counted_without_class(targets: Array, ignored: int | None, classes: int) -> Targets:
    return _counted(np.ones(targets.shape, dtype=bool), targets, classes)


def _left_out(targets: Array, ignored: int | None, classes: int) -> Targets:
    if ignored is None:
        return _counted_without_class(targets, ignored, classes)
    return _counted(targets != ignored, targets, classes)


def _all_but(constant: int) -> Any:
    return lambda targets, ignored, classes: _counted(targets != constant, targets, classes)


def _left_out_by_default(constant: int) -> Any:
    """Return what ignores a constant where nothing is to be ignored."""
    return lambda targets, ignored, classes: _left_out(targets, constant if ignored is None else ignored, classes)


def _counted_as_first_class(targets: Array, ignored: int | None, classes: int) -> Targets:
    counted, chosen, _ = _counted_without_class(targets, ignored, classes)
    return counted, chosen, np.ones(targets.shape)


def _counted_from_the_end(targets: Array, ignored: int | None, classes: int) -> Targets:
    if (targets < -classes).any():
        raise NotDefined("no class has that number, not even from the end")
    return np.ones(targets.shape, dtype=bool), targets % classes, np.ones(targets.shape)


def _counted_as_nearest_class(targets: Array, ignored: int | None, classes: int) -> Targets:
    return np.ones(targets.shape, dtype=bool), np.clip(targets, 0, classes - 1), np.ones(targets.shape)


def _counted_by_remainder(targets: Array, ignored: int | None, classes: int) -> Targets:
    return np.ones(targets.shape, dtype=bool), targets % classes, np.ones(targets.shape)


_COUNTED = "padding_in_loss"
IGNORED = Decision(
    "ignored",
    "What becomes of the targets that are to be ignored?",
    (
        standard("left_out", _left_out),
        mistake(_COUNTED, _counted_without_class, "counted_without_class"),
        mistake(_COUNTED, _counted_as_first_class, "counted_as_first_class"),
        mistake(_COUNTED, _counted_from_the_end, "counted_from_the_end"),
        mistake(_COUNTED, _counted_by_remainder, "counted_by_remainder"),
        mistake(_COUNTED, _counted_as_nearest_class, "counted_as_nearest_class"),
        mistake(_COUNTED, _all_but(-100), "only_minus_100_ignored"),
        mistake(_COUNTED, _all_but(-1), "only_minus_1_ignored"),
        mistake(_COUNTED, _all_but(0), "only_0_ignored"),
        mistake("class_zero_ignored", _left_out_by_default(0)),
    ),
)

# Of the classes, and whether a position has one: those by which each position is judged.
CLASSES = Decision(
    "classes",
    "Whose class is it that a position should have found?",
    (
        standard("its_own", lambda of_positions: of_positions),
        mistake(_SHIFTED_AGAIN, _next_in_row, "of_next_in_row"),
        mistake(_SHIFTED_AGAIN, _next_in_batch, "of_next_in_batch"),
    ),
)
