"""Regions of feed-forward networks."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

# Their backward passes visit the same regions.
_PLAIN = ("feed_forward", "feed_forward_backward")
_GATED = ("gated_feed_forward", "gated_feed_forward_backward")
_NETWORKS = (*_PLAIN, *_GATED)
REGIONS = (
    *among(
        _NETWORKS,
        ("more hidden units than components", "The network widens.", lambda c: c.hidden > c.width),
        ("fewer hidden units than components", "The network narrows.", lambda c: c.hidden < c.width),
        ("one hidden unit", "Everything passes through one number.", lambda c: c.hidden == 1),
        ("a network beyond a block of 16", "Some axis has more than 16.", lambda c: max(c.hidden, c.width) > 16),
        ("network on rows of samples", "Several rows of several samples.", lambda c: c.batch > 1 < c.rows),
        ("network of amplitude 4", "Large components.", lambda c: c.amplitude == 4),
        ("network with relu", "max(0, x).", lambda c: c.activation == "relu"),
        ("network with gelu", "x Φ(x).", lambda c: c.activation == "gelu"),
        ("network with silu", "x σ(x).", lambda c: c.activation == "silu"),
    ),
    *among(
        _PLAIN,
        ("network with biases", "Both matrices have a bias.", lambda c: c.biases),
        ("network without biases", "Neither matrix has a bias.", lambda c: not c.biases),
    ),
    Region(
        "branches that differ",
        "The gate has other weights than the branch that it gates.",
        _GATED,
        inputs=lambda given: not np.array_equal(given.weights.w_gate, given.weights.w_up),
    ),
)
