"""What a row without a visible key amounts to under a convention."""

from __future__ import annotations

from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import softmax_over


def softmax_over_visible(logits: Array, visible: Array, conventions: Conventions) -> tuple[Array, Array, Array]:
    """Return what `softmax_over` does under the convention for rows without a visible key."""
    return softmax_over(logits, visible, conventions["empty_row"])
