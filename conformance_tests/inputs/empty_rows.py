"""What a row without a visible key amounts to under a convention."""

from __future__ import annotations

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.inputs.expected import Conventions

Array = np.ndarray


def softmax_over_visible(logits: Array, visible: Array, conventions: Conventions) -> tuple[Array, Array, Array]:
    """Return logits (−∞ where hidden), visible keys and weights of a softmax over the visible keys.

    A row without a visible key has no weight at all, except where the convention is the mean of all values: there
    it is a softmax over equal logits, of which every key is visible. An error bound follows from either.
    """
    if conventions["empty_row"] == "mean_of_values":
        empty = ~visible.any(axis=-1, keepdims=True)
        logits, visible = np.where(empty, 0.0, logits), visible | empty
    weights = reference.masked_softmax(logits, visible, empty_row="zeros")
    return np.where(visible, logits, -np.inf), visible, weights
