"""Terms added to logits for the distance of two positions: ALiBi, and the buckets of T5."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float64, Int
from veriformer.reference.checks import as_integers, require_count


def alibi_slopes(num_heads: int) -> Float64[Array, " {num_heads}"]:
    """Space the slopes of the heads geometrically.

    m_h = 2^(−8(h + 1)/H), h = 0, …, H − 1, for H a power of two; for any other H the slopes of the largest power of
    two n below it, and then the first H − n of every second slope for 2n heads: 2^(−8(2h + 1)/(2n))

    Shapes: num_heads to (H,).
    Raises: ValueError when num_heads is not an integer ≥ 1.
    Source: Press, Smith & Lewis 2022, section 3; for other head counts the paper's code, get_slopes.
    Conventions: none; the paper states the powers of two only.
    """
    require_count("num_heads", num_heads, 1)
    power = 1 << (int(num_heads).bit_length() - 1)
    exponents = np.arange(1, power + 1) / power
    between = (2 * np.arange(num_heads - power) + 1) / (2 * power)
    return np.exp2(-8.0 * np.concatenate([exponents, between]))


def alibi_bias(
    num_heads: int, query_length: int, key_length: int
) -> Float64[Array, "{num_heads} {query_length} {key_length}"]:
    """Let the logits fall linearly with the distance, in each head at a slope of its own.

    bias[h, r, j] = −m_h (i − j), i = r + S − L: the queries are the last L of the S positions

    For a later key (j > i) the formula gives a positive number, which a causal mask hides.

    Shapes: num_heads, query_length and key_length to (H, L, S).
    Raises: ValueError when num_heads is not an integer ≥ 1, or a length not an integer ≥ 0.
    Source: Press, Smith & Lewis 2022, section 3.
    Conventions: the paper's code adds m_h j instead, which has the same softmax.
    """
    require_count("query_length", query_length, 0)
    require_count("key_length", key_length, 0)
    slopes = alibi_slopes(num_heads)
    query = np.arange(query_length)[:, None] + (key_length - query_length)
    # Not a product with −m, so that no distance gives a negative zero.
    return np.asarray(slopes[:, None, None] * (np.arange(key_length)[None, :] - query))


def relative_position_bucket(
    relative_position: Int[Array, "*shape"],
    *,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
) -> Int[Array, "*shape"]:
    """Sort relative positions into buckets: one each for near ones, logarithmically wider ones for far ones.

    bucket(n) = n                                                                 n < N/2
    bucket(n) = min(N/2 + ⌊ln(n/(N/2)) / ln(max_distance/(N/2)) · (N − N/2)⌋, N − 1)     n ≥ N/2, N/2 rounded down

    Bidirectional: N = num_buckets/2 and n = |d|, and N is added where d > 0. Otherwise N = num_buckets, n = −min(d, 0).

    Shapes: relative_position d = key position − query position, of any shape, to the same shape.
    Raises: ValueError when d is not of integers, a direction has fewer than 2 buckets, num_buckets is odd though
    bidirectional, or max_distance is not above N/2.
    Source: Raffel et al. 2020, section 2.1, and its code, relative_position_bucket.
    Conventions: none. Exactly on the edge of a bucket the logarithms of one precision may fall on the other side than
    those of another.
    """
    distance = as_integers("relative_position", relative_position)
    buckets = _buckets_of_one_direction(bidirectional, num_buckets)
    near = buckets // 2
    require_count("max_distance", max_distance, near + 1)
    later = np.where(distance > 0, buckets, 0) if bidirectional else np.zeros_like(distance)
    n = np.abs(distance) if bidirectional else -np.minimum(distance, 0)
    ratio = np.log(np.maximum(n, near) / near) / np.log(max_distance / near)
    far = near + np.floor(ratio * (buckets - near)).astype(np.int64)
    return np.asarray(later + np.where(n < near, n, np.minimum(far, buckets - 1)))


def _buckets_of_one_direction(bidirectional: bool, num_buckets: int) -> int:
    """Return N; ValueError when it is below 2, or not whole."""
    require_count("num_buckets", num_buckets, 4 if bidirectional else 2)
    if bidirectional and num_buckets % 2:
        raise ValueError(
            f"num_buckets must be even when bidirectional, half for each direction; got {num_buckets}; "
            f"pass {num_buckets - 1} or {num_buckets + 1}"
        )
    return num_buckets // 2 if bidirectional else num_buckets
