"""Gradients of layers that float16 does not hold are not judged; those of ordinary cases are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.layers.cases import LayerCase

# Rows of equal components, which two norms one after the other make 10⁵ times steeper. PyTorch returned NaN.
STEEP = LayerCase(
    batch=3,
    heads=1,
    length=2,
    width=2,
    hidden=1,
    memory=0,
    norm_first=False,
    activation="gelu",
    biases=False,
    padding="none",
    memory_padding="none",
    eps=1e-5,
    dtype="float16",
    palette="bits",
    amplitude=1,
    seed=22065,
    regimes=(),
)


def judged(case: LayerCase) -> np.ndarray:
    return draw_inputs("encoder_layer_backward", case).expected(standard_conventions()).judged


def test_gradients_that_float16_does_not_hold_are_not_judged() -> None:
    expected = draw_inputs("encoder_layer_backward", STEEP).expected(standard_conventions())
    assert np.abs(expected.value).max() > np.finfo(np.float16).max
    assert not judged(STEEP).any()


def test_the_same_case_is_judged_where_the_dtype_holds_it() -> None:
    assert all(judged(replace(STEEP, dtype=dtype)).all() for dtype in ("bfloat16", "float32", "float64"))
    assert judged(replace(STEEP, width=4, palette="normal")).all()
