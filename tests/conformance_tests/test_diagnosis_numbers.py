"""Diagnosis of what narrow numbers, blocks and defaults do: programs written in another way than the planted ones."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from veriformer.conformance_tests import check
from veriformer.conformance_tests.operations.suites import family_of

Array = Any


def quotient(x: Array) -> Array:
    return x * (np.exp(x) / (np.exp(x) + np.ones_like(x)))


def eight_at_a_time(x: Array) -> Array:
    """A vector unit's loop, whose rest nobody wrote: the array was zeroed before."""
    flat, result = x.ravel(), np.zeros(x.size, dtype=x.dtype)
    for start in range(0, x.size - 7, 8):
        part = flat[start : start + 8]
        result[start : start + 8] = part / (1 + np.exp(-part))
    return result.reshape(x.shape)


def of_eight_bits(x: Array) -> Array:
    scale = x.abs().amax().clamp_min(1e-30) / 127
    return functional.gelu((x / scale).round().clamp(-128, 127) * scale)


def exponentials_over_sum(x: Array) -> Array:
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)


def exponentials_of_float64(x: Array) -> Array:
    """The exponentials of float32 overflow beyond 88, these beyond 709."""
    exponentials = np.exp(x.astype(np.float64))
    return (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(x.dtype)


def attention_over_a_wide_root(query: Array, key: Array, value: Array) -> Array:
    """The root is a float64 of NumPy, so that logits are as well."""
    exponentials = np.exp(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
    return ((exponentials / exponentials.sum(axis=-1, keepdims=True)) @ value).astype(value.dtype)


def of_half(x: Array) -> Array:
    return x.half().softmax(-1).to(x.dtype)


def with_narrow_total(x: Array) -> Array:
    exponentials = (x - x.amax(-1, keepdim=True)).exp()
    total = torch.zeros(x.shape[:-1], dtype=torch.bfloat16)
    for column in exponentials.unbind(-1):
        total = (total.to(x.dtype) + column).bfloat16()
    return exponentials / total.to(x.dtype)[..., None]


def partial_norm(x: Array, gamma: Array, eps: float) -> Array:
    """The root mean square estimated from the first half (Zhang & Sennrich 2019, section 4), where all is due."""
    estimated = x.chunk(2, dim=-1)[0].square().mean(-1, keepdim=True)
    return x * torch.rsqrt(estimated + eps) * gamma


def eps_before_all(x: Array, gamma: Array, eps: float) -> Array:
    return functional.rms_norm(x + eps, x.shape[-1:], gamma, eps)


def part_of_table(num_heads: int, query_length: int, key_length: int) -> Array:
    steps = np.arange(key_length)[None] - (np.arange(query_length)[:, None] + key_length - query_length)
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)] + [
        2 ** (-4 * (2 * h + 1) / power) for h in range(num_heads - power)
    ]
    return np.array(slopes)[:, None, None] * (steps / key_length)


def unit_interval(length: int, d_model: int) -> Array:
    angle = np.linspace(0, 1, length)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def loss(logits: Array, targets: Array, ignore_index: int | None, label_smoothing: float) -> Array:
    ignored = -10_000 if ignore_index is None else ignore_index
    return functional.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=ignored, label_smoothing=label_smoothing
    )


def zero_is_padding(
    logits: Array, targets: Array, ignore_index: int | None = None, label_smoothing: float = 0.0
) -> Array:
    return loss(logits, targets, ignore_index or 0, label_smoothing)


def a_tenth_by_default(
    logits: Array, targets: Array, ignore_index: int | None = None, label_smoothing: float = 0.1
) -> Array:
    return loss(logits, targets, ignore_index, label_smoothing)


def one_further(logits: Array, targets: Array, ignore_index: int | None = None, label_smoothing: float = 0.0) -> Array:
    return loss(logits[:, :-1], targets[:, 1:], ignore_index, label_smoothing)


def likelihood_of_logits(logits: Array, targets: Array, ignore_index: int | None = None) -> Array:
    return functional.nll_loss(
        logits.transpose(1, 2), targets, ignore_index=-10_000 if ignore_index is None else ignore_index
    )


def gathered(logits: Array, targets: Array) -> Array:
    at_target = logits.gather(-1, targets[..., None])[..., 0]
    return (logits.exp().sum(-1).log() - at_target).mean()


def spread_over_others(logits: Array, targets: Array, *, label_smoothing: float = 0.0) -> Array:
    """Labels smoothed towards all classes but the target; where there is one class, the others' share is 0/0."""
    classes = torch.tensor(float(logits.shape[-1]))
    target = functional.one_hot(targets, logits.shape[-1])
    smoothed = target * (1 - label_smoothing) + (1 - target) * label_smoothing / (classes - 1)
    return -(smoothed * logits.log_softmax(-1)).sum(-1).mean()


def weighted_by_exponentials(output_a: Array, lse_a: Array, output_b: Array, lse_b: Array) -> tuple[Array, Array]:
    weight_a, weight_b = lse_a.exp(), lse_b.exp()
    total = weight_a + weight_b
    return (weight_a[..., None] * output_a + weight_b[..., None] * output_b) / total[..., None], total.log()


TORCH = {"framework": "torch"}


@pytest.mark.parametrize(
    ("operation", "function", "attributes", "mistake"),
    [
        ("silu", quotient, {}, "sigmoid_overflows"),
        ("silu", eight_at_a_time, {}, "block_tail_wrong"),
        ("gelu", of_eight_bits, TORCH, "activation_quantised_by_maximum"),
        ("softmax", exponentials_over_sum, TORCH, "softmax_no_max_subtraction"),
        ("softmax", exponentials_of_float64, {}, "softmax_no_max_subtraction"),
        ("scaled_dot_product_attention", attention_over_a_wide_root, {}, "softmax_no_max_subtraction"),
        ("softmax", of_half, TORCH, "softmax_low_precision"),
        ("softmax", with_narrow_total, TORCH, "softmax_sum_low_precision_accumulator"),
        ("rms_norm", partial_norm, TORCH, "mean_square_of_half"),
        ("rms_norm", eps_before_all, {**TORCH, "dtypes": ("float64",)}, "eps_added_to_vector"),
        ("alibi_bias", part_of_table, {}, "alibi_distance_over_length"),
        ("sinusoidal_positions", unit_interval, {}, "positions_divided_by_length"),
        ("cross_entropy", zero_is_padding, TORCH, "class_zero_ignored"),
        ("cross_entropy", a_tenth_by_default, TORCH, "smoothing_on_by_default"),
        ("cross_entropy", one_further, TORCH, "targets_shifted_again"),
        ("cross_entropy", likelihood_of_logits, TORCH, "log_softmax_forgotten"),
        ("cross_entropy", gathered, TORCH, "softmax_no_max_subtraction"),
        ("cross_entropy", spread_over_others, TORCH, "label_smoothing_spares_target"),
        ("merge_attention", weighted_by_exponentials, TORCH, "softmax_no_max_subtraction"),
    ],
)
def test_a_mistake_is_named_however_it_is_written(
    operation: str, function: Any, attributes: dict[str, Any], mistake: str
) -> None:
    implementation = SimpleNamespace(**{operation: function}, **attributes)
    with np.errstate(all="ignore"):
        report = check(implementation, operations=(operation,), seed=5)
    (diagnosis,) = report.diagnoses
    assert diagnosis.how == "reproduced"
    assert diagnosis.suspects[0].mistakes == (mistake,)


def test_weights_in_half_are_those_of_a_kernel_that_computes_in_single() -> None:
    """The larger weight lies so near the middle between two halves that rounding to single puts it there."""
    x = torch.tensor([[-1.69039631, -1.69309747]])
    family = family_of("softmax")
    assert family is not None
    point = family.standard.changed(("numbers", "in_and_out_in_float16"))
    computed = point.compute({"x": x.numpy(), "dtype": "float32"})
    np.testing.assert_array_equal(computed, of_half(x).numpy())


def clipped_and_unscaled(query: Array, key: Array, value: Array) -> Array:
    weights = np.exp(np.clip(query @ np.swapaxes(key, -1, -2), -60, 60))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def test_what_was_tried_on_moderate_numbers_only_is_counted() -> None:
    report = check(SimpleNamespace(scaled_dot_product_attention=clipped_and_unscaled), seed=5)
    (diagnosis,) = report.diagnoses
    assert diagnosis.excluded > 100
