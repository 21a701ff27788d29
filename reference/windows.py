"""Sliding windows: a query sees the keys near its own position."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from veriformer.reference.array_types import Array, Bool, Int
from veriformer.reference.checks import require_choice, require_count
from veriformer.reference.conventions import CausalAlignment, WindowCounting

Window = Sequence[int | None]


def window_mask(
    query_length: int,
    key_length: int,
    window: Window,
    *,
    causal_alignment: CausalAlignment = "top_left",
    window_counting: WindowCounting = "inclusive",
) -> Bool[Array, "{query_length} {key_length}"]:
    """Show each query the keys at most `left` places before and `right` places after its own position.

    mask[i, j] = (p − left ≤ j ≤ p + right),  p = i, or i + S − L for "bottom_right"

    A side that is None or −1 is unlimited. Under "exclusive" counting the query's own position is one of the keys to
    the left, so that the window begins at p − left + 1, and `left` is at least 1.

    Shapes: query_length L, key_length S and window = (left, right) to (L, S).
    Raises: ValueError when a length is not an integer ≥ 0, the window is not such a pair, or a convention's value is
    unknown.
    Source: Beltagy et al. 2020, section 3.1; Jiang et al. 2023 (Mistral 7B), section 2.
    Conventions: window_counting ("inclusive" in FlashAttention, jax and ONNX, "exclusive" in Mistral and Hugging
    Face), causal_alignment.
    """
    require_count("query_length", query_length, 0)
    require_count("key_length", key_length, 0)
    require_choice("causal_alignment", causal_alignment, CausalAlignment)
    require_choice("window_counting", window_counting, WindowCounting)
    offset = key_length - query_length if causal_alignment == "bottom_right" else 0
    return within_window(np.arange(query_length) + offset, np.arange(key_length), window, window_counting)


def within_window(
    own: Int[Array, " L"], keys: Int[Array, " S"], window: Window, window_counting: WindowCounting = "inclusive"
) -> Bool[Array, "L S"]:
    """Tell which of the key positions lie in the windows around the queries' own positions.

    mask[i, j] = (own_i − left ≤ keys_j ≤ own_i + right)

    Shapes: own (L,) and keys (S,) to (L, S).
    Raises: ValueError as `window_mask`.
    Source: Beltagy et al. 2020, section 3.1.
    Conventions: window_counting, see `window_mask`.
    """
    left, right = _sides(window, smallest_left=1 if window_counting == "exclusive" else 0)
    visible = np.ones((len(own), len(keys)), dtype=np.bool_)
    if left is not None:
        visible &= keys >= own[:, None] - left + (1 if window_counting == "exclusive" else 0)
    if right is not None:
        visible &= keys <= own[:, None] + right
    return np.asarray(visible)


def _sides(window: Window, smallest_left: int) -> tuple[int | None, int | None]:
    """Return both sides of a window, None where it is unlimited."""
    if isinstance(window, str) or not isinstance(window, Sequence) or len(window) != 2:
        raise ValueError(f"window must be a pair (left, right); got {window!r}; pass two numbers of keys")
    for side, smallest in zip(window, (smallest_left, 0), strict=True):
        counted = isinstance(side, Integral) and not isinstance(side, bool) and (side == -1 or side >= smallest)
        if not (side is None or counted):
            raise ValueError(
                f"each side of window must be a number of keys, at least {smallest} here, or None or −1 for no limit; "
                f"got {window!r}; pass such a pair"
            )
    left, right = (None if side is None or side == -1 else int(side) for side in window)
    return left, right
