"""Regions of the gradients of feed-forward networks, beside those of their forward passes."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_PLAIN = ("feed_forward_backward",)
_NETWORKS = (*_PLAIN, "gated_feed_forward_backward")


REGIONS = (
    *among(
        _NETWORKS,
        ("several vectors of a network", "Vectors whose gradients add up.", lambda c: c.batch * c.rows > 1),
        ("several positions of a network", "Positions of a sample whose gradients add up.", lambda c: c.rows > 1),
        ("a network wider than one component", "Biases and vectors of several entries.", lambda c: c.width > 1),
    ),
    Region(
        "vectors and gradients of both signs",
        "The sign of one does not tell that of the other.",
        _NETWORKS,
        inputs=lambda given: bool((np.sign(given.grad_output) != np.sign(given.x)).any()),
    ),
)
