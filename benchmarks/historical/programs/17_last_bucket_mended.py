"""The buckets of T5's relative positions."""

import numpy as np


def relative_position_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """relative_position: key position minus query position."""
    buckets = np.zeros_like(relative_position)
    if bidirectional:
        num_buckets //= 2
        buckets = buckets + (relative_position > 0) * num_buckets
        distance = np.abs(relative_position)
    else:
        distance = np.maximum(-relative_position, 0)
    exact = num_buckets // 2
    ratio = np.log(np.maximum(distance, 1) / exact) / np.log(max_distance / exact)
    far = exact + (ratio * (num_buckets - exact)).astype(relative_position.dtype)
    far = np.minimum(far, num_buckets - 1)
    return buckets + np.where(distance < exact, distance, far)
