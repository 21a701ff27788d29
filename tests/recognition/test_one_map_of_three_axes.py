"""One map for queries, keys and values whose bias has axes of its own, as those of Flax Linen have."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.recognise import recognise

pytest.importorskip("jax")
pytest.importorskip("flax")


@pytest.mark.parametrize("axes", ((3, 3, 8), (9, 8), (72,)))
def test_a_map_whose_bias_has_so_many_axes_is_read(kind: Callable[[str], ModuleType], axes: tuple[int, ...]) -> None:
    inputs = (np.random.default_rng(0).normal(size=(2, 7, 24)).astype(np.float32),)
    model = find_model(kind("one_map").Encoder(axes), "model", inputs)
    trace = recorded_pass(model, inputs, seed=0).trace
    assert trace.values[trace.parameters["params.attention.qkv.bias"]].array.shape == axes
    found = recognise(trace)
    assert found.departures == ()
    (attention,) = (part for part in found.parts if part.role == "multi_head_attention")
    assert attention.summary == "multi_head_attention, 3 heads, every key, one map for query, key, value"
    assert attention.status == "holds"
    assert found.share_understood == found.share_found == 1.0
