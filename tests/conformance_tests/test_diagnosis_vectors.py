"""Diagnosis of norms, activations, networks, embedding and loss: programs written in another way than the planted."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

Array = Any


def diagnosis_of(operation: str, function: Any, **attributes: Any) -> Diagnosis:
    """Return what the suite says of one operation."""
    implementation = SimpleNamespace(**{operation: function}, **attributes)
    with np.errstate(all="ignore"):
        report = check(implementation, operations=(operation,), seed=5)
    (found,) = report.diagnoses
    return found


def first(diagnosis: Diagnosis) -> tuple[str, ...]:
    return diagnosis.suspects[0].mistakes


def unbiased(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    """torch.var divides by n − 1 unless it is told otherwise."""
    return (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps).sqrt() * gamma + beta


def annotated(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    """The norm of The Annotated Transformer: the unbiased deviation, and eps outside the root."""
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


def eps_outside(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    return gamma * (x - np.mean(x, -1, keepdims=True)) / (np.std(x, -1, keepdims=True) + np.float32(eps)) + beta


def whole_sample(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    return functional.layer_norm(x, x.shape[1:], eps=eps) * gamma + beta


def default_eps(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    return functional.layer_norm(x, x.shape[-1:], gamma, beta)


def llama_with_eps_outside(x: Array, gamma: Array, eps: float) -> Array:
    return gamma * (x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps))


def unit_length(x: Array, gamma: Array, eps: float) -> Array:
    return x / torch.sqrt(torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 + eps) * gamma


def fixed_eps(x: Array, gamma: Array, eps: float) -> Array:
    return functional.rms_norm(x, x.shape[-1:], gamma, eps=1e-6)


def like_a_layer_norm(x: Array, gamma: Array, eps: float) -> Array:
    return functional.layer_norm(x, x.shape[-1:], gamma, None, eps)


def softmax_of_columns(x: Array) -> Array:
    return torch.softmax(x, dim=max(x.ndim - 2, 0))


def normal_without_root(x: Array) -> Array:
    return x / 2 + x / 2 * torch.erf(x)


def tenfold(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * np.power(x, 3))))


def falls(x: Array) -> Array:
    return x / (1 + torch.exp(x))


def after_both(x: Array, weights: Any, activation: str) -> Array:
    act = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}[activation]
    return act(functional.linear(functional.linear(x, weights.w_1.T, weights.b_1), weights.w_2.T, weights.b_2))


def bias_last(x: Array, weights: Any, activation: str) -> Array:
    act = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}[activation]
    hidden = act(torch.einsum("bld,df->blf", x, weights.w_1))
    if weights.b_1 is None:
        return hidden @ weights.w_2
    return (hidden + weights.b_1) @ weights.w_2 + weights.b_2


def up_is_activated(x: Array, weights: Any, activation: str) -> Array:
    act = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}[activation]
    gate, up = (x @ torch.cat([weights.w_gate, weights.w_up], dim=-1)).chunk(2, dim=-1)
    return functional.linear(act(up) * gate, weights.w_down.T)


def never_scaled(tokens: Array, table: Array, scale_by_sqrt_d_model: bool = False) -> Array:
    return functional.embedding(tokens, table)


def padding_is_zero(tokens: Array, table: Array, scale_by_sqrt_d_model: bool = False) -> Array:
    rows = functional.embedding(tokens, torch.cat([torch.zeros_like(table[:1]), table[1:]]))
    return rows * math.sqrt(table.shape[1]) if scale_by_sqrt_d_model else rows


def softmax_before_loss(
    logits: Array, targets: Array, ignore_index: int | None = None, label_smoothing: float = 0.0
) -> Array:
    ignored = -10_000 if ignore_index is None else ignore_index
    probabilities = functional.softmax(logits, dim=-1).flatten(0, 1)
    return functional.cross_entropy(
        probabilities, targets.flatten(), ignore_index=ignored, label_smoothing=label_smoothing
    )


def mean_of_samples(logits: Array, targets: Array, ignore_index: int | None = None) -> Array:
    ignored = -10_000 if ignore_index is None else ignore_index
    rows = [functional.cross_entropy(z, t, ignore_index=ignored) for z, t in zip(logits, targets, strict=True)]
    counted = [row for row, t in zip(rows, targets, strict=True) if bool((t != ignored).any())]
    return torch.stack(counted).mean()


def divides_by_all(logits: Array, targets: Array, ignore_index: int | None = None) -> Array:
    ignored = -10_000 if ignore_index is None else ignore_index
    losses = functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=ignored, reduction="none")
    return losses.mean()


def asked_for_the_sum(
    logits: Array, targets: Array, ignore_index: int = -100, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Array:
    losses = functional.cross_entropy(
        logits.transpose(1, 2),
        targets,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction="none",
    )
    count = (targets != ignore_index).sum() if reduction == "mean" else len(targets)
    return losses if reduction == "none" else losses.sum() / count


def one_row_after_the_other(
    logits: Array, targets: Array, ignore_index: int | None = None, reduction: str = "mean"
) -> Array:
    kept = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    picked = torch.where(kept, targets, torch.zeros_like(targets))
    losses = logits.logsumexp(-1) - logits.gather(-1, picked.unsqueeze(-1)).squeeze(-1)
    if reduction == "none":
        return losses
    return losses[kept].sum() if reduction == "sum" else losses[kept].mean()


TORCH = {"framework": "torch"}


@pytest.mark.parametrize(
    ("operation", "function", "attributes", "mistake"),
    [
        ("layer_norm", unbiased, TORCH, "unbiased_variance"),
        ("layer_norm", eps_outside, {}, "layernorm_eps_outside_sqrt"),
        ("layer_norm", whole_sample, TORCH, "layernorm_wrong_axis"),
        ("layer_norm", default_eps, TORCH, "norm_eps_value_mismatch"),
        ("rms_norm", llama_with_eps_outside, TORCH, "rmsnorm_eps_outside_sqrt"),
        ("rms_norm", unit_length, TORCH, "rmsnorm_sum_of_squares"),
        ("rms_norm", fixed_eps, TORCH, "norm_eps_value_mismatch"),
        ("rms_norm", like_a_layer_norm, TORCH, "rmsnorm_centred"),
        ("softmax", softmax_of_columns, TORCH, "softmax_wrong_axis"),
        ("gelu", normal_without_root, TORCH, "gelu_erf_without_root_two"),
        ("gelu", tenfold, {}, "gelu_constant_wrong"),
        ("silu", falls, TORCH, "sigmoid_sign_flipped"),
        ("feed_forward", after_both, TORCH, "ffn_activation_misplaced"),
        ("feed_forward", bias_last, TORCH, "ffn_bias_after_activation"),
        ("gated_feed_forward", up_is_activated, TORCH, "swiglu_gate_up_swapped"),
        ("token_embedding", never_scaled, TORCH, "embedding_scale_missing"),
        ("token_embedding", padding_is_zero, TORCH, "embedding_zeroes_token_zero"),
        ("cross_entropy", softmax_before_loss, TORCH, "double_softmax_before_ce"),
        ("cross_entropy", mean_of_samples, TORCH, "mean_of_means_over_microbatches"),
        ("cross_entropy", divides_by_all, TORCH, "loss_denominator_counts_padding"),
        ("cross_entropy", asked_for_the_sum, TORCH, "loss_sum_divided_by_samples"),
        ("cross_entropy", one_row_after_the_other, TORCH, "loss_of_ignored_returned"),
    ],
)
def test_a_mistake_is_named_however_it_is_written(
    operation: str, function: Any, attributes: dict[str, str], mistake: str
) -> None:
    diagnosis = diagnosis_of(operation, function, **attributes)
    assert diagnosis.how == "reproduced"
    assert first(diagnosis) == (mistake,)
    assert diagnosis.suspects[0].confidence == 1.0


def centred_without_bias(x: Array, weights: Any, activation: str) -> Array:
    act = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}[activation]
    hidden = act(x @ weights.w_1 + (0 if weights.b_1 is None else weights.b_1))
    centred = hidden - hidden.mean(-1, keepdim=True)
    return functional.linear(centred, weights.w_2.T)


def summed_bits(logits: Array, targets: Array) -> Array:
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / math.log(2)


@pytest.mark.parametrize(
    ("operation", "function", "mistakes"),
    [
        ("layer_norm", annotated, ("layernorm_eps_outside_sqrt", "unbiased_variance")),
        ("feed_forward", centred_without_bias, ("ffn_hidden_centred", "ffn_output_bias_dropped")),
        ("cross_entropy", summed_bits, ("loss_summed", "lse_base2_vs_e")),
    ],
)
def test_two_mistakes_made_together_are_both_named(operation: str, function: Any, mistakes: tuple[str, str]) -> None:
    diagnosis = diagnosis_of(operation, function, framework="torch")
    assert diagnosis.how == "reproduced"
    assert first(diagnosis) == mistakes


def test_a_decision_that_no_record_has_is_told_by_its_name() -> None:
    def shift_inside(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
        return (functional.layer_norm(x, x.shape[-1:], eps=eps) + beta) * gamma

    diagnosis = diagnosis_of("layer_norm", shift_inside, framework="torch")
    assert first(diagnosis) == ("gain_and_shift=shift_before_gain",)


def test_an_overflow_beside_a_wrong_formula_does_not_hide_it() -> None:
    def columns_without_maximum(x: Array) -> Array:
        exponentials = np.exp(x)
        return exponentials / exponentials.sum(axis=max(x.ndim - 2, 0), keepdims=True)

    assert first(diagnosis_of("softmax", columns_without_maximum)) == ("softmax_wrong_axis",)


def median_norm(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    centred = x - x.median(-1, keepdim=True).values
    return centred / (centred.abs().median(-1, keepdim=True).values + eps) * gamma + beta


def arctangent(x: Array) -> Array:
    return x * (torch.atan(x) / math.pi + 0.5)


def sparse(x: Array) -> Array:
    squares = torch.relu(x) ** 2 + 1e-3
    return squares / squares.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("operation", "function"), [("layer_norm", median_norm), ("silu", arctangent), ("softmax", sparse)]
)
def test_what_nobody_recorded_is_not_given_a_name(operation: str, function: Any) -> None:
    diagnosis = diagnosis_of(operation, function, framework="torch")
    assert diagnosis.how != "reproduced"
    assert all(suspect.confidence < 0.2 for suspect in diagnosis.suspects)


def test_a_wrong_shape_is_named_for_itself() -> None:
    """Every law of the operation is broken by it, for want of something to compare."""
    diagnosis = diagnosis_of("softmax", lambda x: torch.softmax(x, -1).squeeze(), framework="torch")
    assert first(diagnosis) == ("squeeze_drops_axis_of_one",)


def test_low_precision_is_not_taken_for_overflow() -> None:
    """Large logits break the same comparison as small ones, and say nothing more."""
    diagnosis = diagnosis_of("softmax", lambda x: torch.softmax(x.bfloat16(), -1).to(x.dtype), framework="torch")
    assert "softmax_low_precision" in {name for suspect in diagnosis.suspects for name in suspect.mistakes}
    assert "softmax_no_max_subtraction" not in {name for suspect in diagnosis.suspects for name in suspect.mistakes}
