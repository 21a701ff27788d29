"""Masks, always boolean and True at visible keys."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Int
from veriformer.reference.checks import require_choice, require_count
from veriformer.reference.conventions import CausalAlignment


def causal_mask(
    query_length: int, key_length: int, causal_alignment: CausalAlignment = "top_left"
) -> Bool[Array, "{query_length} {key_length}"]:
    """Show each query the keys that do not come after it.

    mask[i, j] = (j ≤ i) for "top_left", (j ≤ i + S − L) for "bottom_right"

    Bottom-right alignment lets the last query see the last key; with S < L its first L − S queries see none.

    Shapes: query_length L and key_length S to (L, S).
    Raises: ValueError when a length is not an integer ≥ 0 or the alignment is unknown.
    Source: Vaswani et al. 2017, section 3.2.3 (for L = S, where the alignments agree).
    Conventions: causal_alignment. Top-left in torch's functional attention, jax, flax, keras; bottom-right in
    FlashAttention since 2.1, MLX, x-transformers.
    """
    require_count("query_length", query_length, 0)
    require_count("key_length", key_length, 0)
    require_choice("causal_alignment", causal_alignment, CausalAlignment)
    offset = key_length - query_length if causal_alignment == "bottom_right" else 0
    i = np.arange(query_length)[:, None]
    j = np.arange(key_length)[None, :]
    return np.asarray(j <= i + offset)


def padding_mask(lengths: Int[Array, " B"], max_length: int) -> Bool[Array, "B {max_length}"]:
    """Mark the real tokens of sequences that are padded on the right.

    mask[b, j] = (j < lengths[b])

    Shapes: lengths (B,) and max_length S to (B, S). Put in two axes, mask[:, None, None, :], to mask attention's keys.
    Raises: ValueError when lengths is not a vector of integers between 0 and max_length.
    Source: Vaswani et al. 2017, section 3.2.3 (masking of illegal positions).
    Conventions: torch.nn.Transformer's key_padding_mask is the opposite, True at padding.
    """
    require_count("max_length", max_length, 0)
    counts = np.asarray(lengths)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise ValueError(
            f"lengths must be a vector of integers (B,); got shape {counts.shape} and dtype {counts.dtype}; "
            "pass the number of real tokens of each sequence"
        )
    if np.any(counts < 0) or np.any(counts > max_length):
        raise ValueError(
            f"lengths must lie between 0 and max_length = {max_length}; got {counts.tolist()}; "
            "truncate the sequences or raise max_length"
        )
    return np.asarray(np.arange(max_length)[None, :] < counts[:, None])
