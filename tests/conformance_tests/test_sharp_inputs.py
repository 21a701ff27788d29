"""Inputs on which rounding can do little: what they are, what they accuse, and what they do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from veriformer.conformance_tests import check
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.attention.laws.sharp import faint_keys
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.representable import kept_exactly, representable, rounding

SIXTEEN_BITS = ("bfloat16", "float16")
DTYPES = ("float32", "float64", *SIXTEEN_BITS)
OPERATION = "scaled_dot_product_attention"


class Attention:
    """Attention in torch, fused or step by step, whose scale may be wrong and whose mask may leak."""

    framework = "torch"
    dtypes = DTYPES

    def __init__(self, *, eager: bool = False, scale_error: float = 0.0, leak: float = 0.0) -> None:
        self.eager, self.scale_error, self.leak = eager, scale_error, leak

    def scaled_dot_product_attention(self, query: Any, key: Any, value: Any, *, mask: Any = None) -> Any:
        scale = (1.0 + self.scale_error) / math.sqrt(query.shape[-1])
        kept = query.dtype if self.eager else torch.float64
        logits = (query.to(kept) @ key.to(kept).transpose(-1, -2)) * scale
        if mask is not None:
            logits = torch.where(mask, logits, logits + (math.log(self.leak) if self.leak else -math.inf))
        return (torch.softmax(logits, dim=-1) @ value.to(kept)).to(query.dtype)


def status(program: Attention, law: str, dtype: str, seed: int = 0) -> str:
    (result,) = check(program, laws=(law,), dtypes=(dtype,), seed=seed, diagnosis=False).results
    return result.status


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("eager", (False, True))
@pytest.mark.parametrize("law", ("attention.scale.faint_key", "attention.mask.no_share"))
def test_right_programs_are_not_accused(dtype: str, law: str, *, eager: bool) -> None:
    assert all(status(Attention(eager=eager), law, dtype, seed) == "passed" for seed in range(5))


@pytest.mark.parametrize(
    ("dtype", "eager", "share"),
    [
        ("float32", False, 3e-6),
        ("float32", True, 3e-6),
        ("bfloat16", False, 8e-3),
        ("bfloat16", True, 8e-3),
        ("float16", False, 2e-3),
        ("float64", False, 1e-14),
    ],
)
def test_a_scale_that_is_slightly_off_is_found(dtype: str, share: float, *, eager: bool) -> None:
    program = Attention(eager=eager, scale_error=share)
    assert all(status(program, "attention.scale.faint_key", dtype, seed) == "failed" for seed in range(3))


@pytest.mark.parametrize(("dtype", "leak"), [("float32", 1e-30), ("bfloat16", 1e-30), ("float16", 1e-4)])
def test_a_mask_that_leaks_next_to_nothing_is_found(dtype: str, leak: float) -> None:
    assert status(Attention(leak=leak), "attention.mask.no_share", dtype) == "failed"


def drawn(dtype: str, width: int, scale: float | None = None, heads: int = 4, kv_heads: int = 2) -> AttentionInputs:
    case = AttentionCase(2, heads, kv_heads, 5, 7, width, 3, dtype=dtype, scale=scale)
    return faint_keys(AttentionInputs.draw("grouped_query_attention", case), np.random.default_rng(0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "scale"), [(1, None), (3, None), (16, None), (64, None), (5, 0.25), (2, 2.0)])
def test_one_key_has_the_logit_zero_and_the_others_are_deep(dtype: str, width: int, scale: float | None) -> None:
    inputs = drawn(dtype, width, scale)
    key = np.repeat(inputs.key, 2, axis=1)
    logits = inputs.query @ key.swapaxes(-1, -2) * (width**-0.5 if scale is None else scale)
    assert ((logits == 0.0).sum(axis=-1) == 1).all()
    depth = 8.0 if dtype == "float16" else 64.0
    assert depth / 2 < -logits.min() <= depth
    assert ((inputs.value != 0.0).any(axis=-1).sum(axis=-1) == 1).all()
    for array in (inputs.query, inputs.key, inputs.value):
        assert (round_to_dtype(array, dtype) == array).all()


@pytest.mark.parametrize("dtype", SIXTEEN_BITS)
def test_sixteen_bits_hold_their_logits_where_the_scale_is_a_power_of_two(dtype: str) -> None:
    precision = Precision.of(dtype)
    for width, exact in ((16, True), (64, True), (3, False)):
        inputs = drawn(dtype, width, heads=2)
        logits = inputs.query @ inputs.key.swapaxes(-1, -2) / math.sqrt(width)
        assert kept_exactly(inputs.query, inputs.key, width**-0.5, (logits,), precision).all() == exact


@pytest.mark.parametrize("dtype", SIXTEEN_BITS)
def test_numbers_of_a_dtype_are_those_that_rounding_leaves_alone(dtype: str) -> None:
    generator, precision = np.random.default_rng(1), Precision.of(dtype)
    values = np.concatenate([generator.normal(size=1000), generator.integers(-300, 300, 1000), [0.0, 1.0, -0.5]])
    stored = round_to_dtype(values, dtype)
    assert (representable(values, precision) == (stored == values)).all()
    np.testing.assert_array_equal(rounding(values, precision), np.abs(stored - values))


@pytest.mark.parametrize("dtype", SIXTEEN_BITS)
def test_what_is_stored_lies_within_twice_the_error_of_a_number_that_can_be(dtype: str) -> None:
    generator = np.random.default_rng(2)
    right = round_to_dtype(generator.normal(size=10_000), dtype)
    error = generator.normal(size=right.shape) * 10.0 ** generator.uniform(-7, 0, right.shape)
    assert (np.abs(round_to_dtype(right + error, dtype) - right) <= 2.0 * np.abs(error) * (1 + 1e-12)).all()
