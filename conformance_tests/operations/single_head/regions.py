"""Regions of attention of one head."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_OPERATION = ("single_head_attention",)


def _is_wider_than_its_head(given: Any) -> bool:
    return bool(given.x.shape[-1] > given.weights.w_q.shape[1])


def _projects_apart(given: Any) -> bool:
    weights = given.weights
    return not np.array_equal(weights.w_k, weights.w_v)


def _hides_a_position(given: Any) -> bool:
    return given.mask is not None and not given.mask.all()


REGIONS = (
    *among(
        _OPERATION,
        ("a single token", "One position, which sees itself.", lambda c: c.query_length == 1),
        ("several tokens of one head", "More than one position.", lambda c: c.query_length > 1),
        ("a head of width above one", "The scale is not 1.", lambda c: c.head_width > 1),
        ("values of another width than the head", "D and Dv differ.", lambda c: c.head_width != c.value_width),
        ("padding for one head", "The mask is the same for every query.", lambda c: c.mask_shape == "keys_only"),
    ),
    Region("a model wider than its head", "E is larger than D.", _OPERATION, inputs=_is_wider_than_its_head),
    Region(
        "a head as wide as the model",
        "E equals D.",
        _OPERATION,
        inputs=lambda given: not _is_wider_than_its_head(given),
    ),
    Region("head projections that differ", "W_K and W_V are not equal.", _OPERATION, inputs=_projects_apart),
    Region("a hidden position", "A mask that hides something.", _OPERATION, inputs=_hides_a_position),
)
