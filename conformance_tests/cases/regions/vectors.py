"""Regions of operations on vectors and entries: softmax, norms, activations, feed-forward networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.cases.regions.region import Region, among

_NORMS = ("layer_norm", "rms_norm")
_ACTIVATIONS = ("gelu", "silu")
_VECTORS = ("softmax", *_NORMS, *_ACTIVATIONS)
_OF_ANY_WIDTH = ("softmax", "rms_norm", *_ACTIVATIONS)
_NETWORKS = ("feed_forward", "gated_feed_forward")
_BEYOND_EXP = {"float16": 11.0, "bfloat16": 88.0, "float32": 88.0, "float64": 709.0}
# With an eps of a hundredth of what it is added to, the root is wrong in the third digit wherever eps is misplaced.
_NOTICEABLE = 0.01


def _mean_squares(given: Any) -> np.ndarray:
    return np.asarray(np.square(given.x).mean(axis=-1))


def _near_eps(statistic: np.ndarray, eps: float) -> bool:
    return bool(((statistic > 0) & (statistic * _NOTICEABLE < eps)).any())


def _between_two_and_three(given: Any) -> bool:
    return bool(((np.abs(given.x) >= 2) & (np.abs(given.x) <= 3)).any())


VECTORS = among(
    _VECTORS,
    ("two components", "The shortest vectors with anything to compare.", lambda c: c.width == 2),
    ("components at a block of 16", "16 components, or one more.", lambda c: c.width in (16, 17)),
    ("components at a block of 64", "64 components, or one more.", lambda c: c.width in (64, 65)),
    ("components of a block and a tail", "More than 8, no multiple of 8.", lambda c: c.width > 8 and c.width % 8),
    ("several rows of several samples", "Neither axis passes for the features.", lambda c: c.batch > 1 < c.rows),
    ("components of amplitude 4", "Large components.", lambda c: c.amplitude == 4),
)
WIDTHS = among(_OF_ANY_WIDTH, ("one component", "A vector of one component.", lambda c: c.width == 1))
SOFTMAX = (
    *among(
        ("softmax",),
        (
            "long sums in a wide dtype",
            "Sums of more than two terms in 32 or 64 bits, which 16 bits do not hold.",
            lambda c: c.width > 2 and c.dtype in ("float32", "float64"),
        ),
    ),
    Region(
        "entries beyond exp",
        "An entry whose exponential overflows.",
        ("softmax",),
        lambda c: c.amplitude >= 30,
        lambda given: bool(given.x.max() > _BEYOND_EXP[given.dtype]),
    ),
)
NORMS = (
    *among(
        _NORMS,
        ("eps that matters", "An eps of a tenth.", lambda c: c.eps == 0.1),
        ("eps that hardly matters", "The eps of 1e-5.", lambda c: c.eps < 1e-4),
    ),
    Region(
        "variance near eps",
        "A variance of which eps is a hundredth at least.",
        ("layer_norm",),
        inputs=lambda given: _near_eps(given.x.var(axis=-1), given.eps),
    ),
    Region(
        "mean square near eps",
        "A mean square, not zero, of which eps is a hundredth at least.",
        ("rms_norm",),
        inputs=lambda given: _near_eps(_mean_squares(given), given.eps),
    ),
    Region(
        "mean square other than one",
        "Another root does not pass for this one.",
        ("rms_norm",),
        inputs=lambda given: bool((np.abs(_mean_squares(given) - 1) > _NOTICEABLE).any()),
    ),
)
ACTIVATIONS = (
    Region(
        "entries between 2 and 3",
        "The forms of GELU part most there, in a dtype that tells them apart.",
        ("gelu",),
        lambda c: c.dtype in ("float32", "float64"),
        _between_two_and_three,
    ),
)
NETWORKS = (
    *among(
        _NETWORKS,
        ("more hidden units than components", "The network widens.", lambda c: c.hidden > c.width),
        ("fewer hidden units than components", "The network narrows.", lambda c: c.hidden < c.width),
        ("one hidden unit", "All goes through one number.", lambda c: c.hidden == 1),
        ("a network beyond a block of 16", "Some axis has more than 16.", lambda c: max(c.hidden, c.width) > 16),
        ("network on rows of samples", "Several rows of several samples.", lambda c: c.batch > 1 < c.rows),
        ("network of amplitude 4", "Large components.", lambda c: c.amplitude == 4),
        ("network with relu", "max(0, x).", lambda c: c.activation == "relu"),
        ("network with gelu", "x Φ(x).", lambda c: c.activation == "gelu"),
        ("network with silu", "x σ(x).", lambda c: c.activation == "silu"),
    ),
    *among(
        ("feed_forward",),
        ("network with biases", "Both matrices have a bias.", lambda c: c.biases),
        ("network without biases", "Neither matrix has a bias.", lambda c: not c.biases),
    ),
    Region(
        "branches that differ",
        "The gate has other weights than the branch that it gates.",
        ("gated_feed_forward",),
        inputs=lambda given: not np.array_equal(given.weights.w_gate, given.weights.w_up),
    ),
)
REGIONS = (*VECTORS, *WIDTHS, *SOFTMAX, *NORMS, *ACTIVATIONS, *NETWORKS)
