"""The weights of a row without a visible key under a convention."""

from __future__ import annotations

from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import softmax_over


def softmax_over_visible(logits: Array, visible: Array, conventions: Conventions) -> tuple[Array, Array, Array]:
    """Return the result of `softmax_over` under the convention for rows without a visible key."""
    return softmax_over(logits, visible, conventions["empty_row"])
