"""Diagnosis of attention: wrong programs, each written in its own way, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

torch = pytest.importorskip("torch")

Program = Callable[..., Any]
ATTENTION = (
    "attention.scale",
    "attention.explicit_scale",
    "attention.batch.independence",
    "attention.mask.value",
    "attention.mask.padding",
    "attention.causal.no_future_leak",
    "attention.causal.with_padding",
    "attention.causal.unequal_lengths",
)


def told(operation: str, program: Program, laws: tuple[str, ...], **declared: Any) -> Diagnosis | None:
    """Return what a program is told of an operation whose laws it breaks."""
    return told_of(SimpleNamespace(**{operation: program}, **declared), operation, laws)


def told_of(target: SimpleNamespace, operation: str, laws: tuple[str, ...]) -> Diagnosis | None:
    with np.errstate(all="ignore"):
        report = check(target, operations=(operation,), laws=laws, dtypes=("float32",))
    assert any(result.status == "failed" for result in report.results)
    return next((found for found in report.diagnoses if found.operation == operation), None)


def first(diagnosis: Diagnosis | None) -> tuple[str, ...]:
    assert diagnosis is not None
    assert diagnosis.suspects, diagnosis
    return diagnosis.suspects[0].mistakes


def softmaxed(logits: np.ndarray) -> np.ndarray:
    """Return softmax by logarithms, rows of −∞ as zeros; in double precision, for logarithms of sums lose digits."""
    logits = logits.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)))


def scaled_by_all_heads(query, key, value, *, mask=None, is_causal=False, scale=None):
    batch, heads, length, width = query.shape
    factor = 1 / (heads * width) ** 0.5 if scale is None else scale
    output = np.zeros((*query.shape[:3], value.shape[-1]), query.dtype)
    for b, h, i in np.ndindex(batch, heads, length):
        logits = factor * key[b, h].astype(np.float64) @ query[b, h, i]
        if mask is not None:
            logits[~np.broadcast_to(mask, (batch, heads, length, key.shape[2]))[b, h, i]] = -np.inf
        if is_causal:
            logits[i + 1 :] = -np.inf
        output[b, h, i] = softmaxed(logits) @ value[b, h]
    return output


def one_key_too_many(query, key, value, *, mask=None, is_causal=False, scale=None):
    logits = np.einsum("bhid,bhjd->bhij", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    blocked = np.zeros(logits.shape, bool) if mask is None else ~np.broadcast_to(mask, logits.shape)
    if is_causal:
        blocked = blocked | np.triu(np.ones(logits.shape[-2:], bool), k=2)
    return np.einsum("bhij,bhjd->bhid", softmaxed(np.where(blocked, -np.inf, logits)), value).astype(query.dtype)


def mask_upside_down(query, key, value, *, mask=None, is_causal=False, scale=None):
    """Torch's fused attention, handed a mask of the other polarity."""
    hidden = torch.zeros(query.shape[-2], key.shape[-2], dtype=torch.bool)
    if is_causal:
        hidden = torch.ones_like(hidden).triu(1)
    if mask is not None:
        hidden = hidden | mask
    logits = torch.einsum("bhid,bhjd->bhij", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    logits = logits + torch.zeros_like(logits).masked_fill(hidden.expand(logits.shape), -torch.inf)
    return torch.nan_to_num(logits.softmax(-1)) @ value


def mask_upside_down_with_nan(query, key, value, *, mask=None):
    """The same without care for rows that see no key: by its answers nobody can tell what they are meant to be."""
    logits = torch.baddbmm(torch.zeros(1), query.flatten(0, 1), key.flatten(0, 1).mT, alpha=query.shape[-1] ** -0.5)
    logits = logits.unflatten(0, query.shape[:2])
    return (logits if mask is None else logits.masked_fill(mask, -torch.inf)).softmax(-1) @ value


def mask_upside_down_without_scale(query, key, value, *, mask=None, is_causal=False, scale=None):
    return mask_upside_down(query, key, value, mask=mask, is_causal=is_causal, scale=1.0 if scale is None else scale)


def mask_upside_down_with_nan_without_scale(query, key, value, *, mask=None):
    return mask_upside_down_with_nan(query * query.shape[-1] ** 0.5, key, value, mask=mask)


def causality_replaced_and_far_logits_lifted(query, key, value, *, mask=None, is_causal=False, scale=None):
    """Small numbers show that a mask replaces causality, large ones alone that no logit is further off than 20."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query.astype(np.float64) @ key.astype(np.float64).swapaxes(-1, -2) * scale
    visible = np.ones(logits.shape, bool) if mask is None else np.broadcast_to(mask, logits.shape)
    if mask is None and is_causal:
        visible = np.tri(*logits.shape[-2:], dtype=bool)
    logits = np.where(visible, logits, -np.inf)
    lifted = np.maximum(logits - logits.max(axis=-1, keepdims=True), -20.0)
    return (softmaxed(lifted) @ value).astype(query.dtype)


def weights_squared(query, key, value, *, mask=None, is_causal=False, scale=None):
    """Sharpen the weights by their position: nothing that anybody reported."""
    logits = np.einsum("bhid,bhjd->bhij", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    weights = softmaxed(logits) ** (1 + 0.3 * np.cos(np.arange(logits.shape[-1])))
    return (weights @ value).astype(query.dtype)


NUMPY: dict[str, Any] = {}
TORCH: dict[str, Any] = {"framework": "torch"}


@pytest.mark.parametrize(
    ("program", "declared", "mistakes"),
    [
        (scaled_by_all_heads, NUMPY, ("scale_by_d_model_not_head_dim",)),
        (one_key_too_many, NUMPY, ("causal_diagonal_off_by_one",)),
        (mask_upside_down, TORCH, ("mask_polarity_inverted",)),
        (mask_upside_down_with_nan, TORCH, ("mask_polarity_inverted",)),
        (mask_upside_down_without_scale, TORCH, ("mask_polarity_inverted", "scale_missing")),
        (mask_upside_down_with_nan_without_scale, TORCH, ("mask_polarity_inverted", "scale_missing")),
    ],
)
def test_attention(program: Program, declared: dict[str, Any], mistakes: tuple[str, ...]) -> None:
    assert first(told("scaled_dot_product_attention", program, ATTENTION, **declared)) == mistakes


def test_what_nobody_reported_has_no_name() -> None:
    diagnosis = told("scaled_dot_product_attention", weights_squared, ATTENTION)
    assert diagnosis is not None
    assert diagnosis.how != "reproduced"
    assert all(suspect.confidence < 0.1 for suspect in diagnosis.suspects)


def test_a_mistake_that_large_numbers_alone_show_is_named_beside_another() -> None:
    laws = ("attention.large_logits", "attention.causal.*")
    diagnosis = told("scaled_dot_product_attention", causality_replaced_and_far_logits_lifted, laws)
    assert first(diagnosis) == ("far_logits_clipped", "padding_mask_replaces_causal")


def average_over_keys_alone(query, key, value, *, is_causal=False, sinks=None):
    """The sink's share is given back to the keys."""
    logits = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    return (softmaxed(logits) @ value).astype(query.dtype)


def test_sinks_without_effect_are_not_taken_for_another_softmax() -> None:
    diagnosis = told("scaled_dot_product_attention", average_over_keys_alone, ("attention.sinks.*",))
    assert [suspect.mistakes for suspect in diagnosis.suspects] == [("sink_renormalised_away",)]


def in_blocks_of_four(query, key, value):
    """The first block's output is not rescaled, and keys behind the last whole block are left out unless alone."""
    logits = query.astype(np.float64) @ key.astype(np.float64).swapaxes(-1, -2) / query.shape[-1] ** 0.5
    keys = logits.shape[-1]
    whole = keys - keys % 4 if keys > 4 else keys
    highest, total, output = -np.inf, 0.0, 0.0
    for start in range(0, whole, 4):
        part = logits[..., start : start + 4]
        raised = np.maximum(highest, part.max(axis=-1, keepdims=True))
        weights = np.exp(part - raised)
        total = total * np.exp(highest - raised) + weights.sum(axis=-1, keepdims=True)
        output = output + weights @ value[..., start : start + 4, :]
        highest = raised
    return (output / total).astype(query.dtype)


def test_two_mistakes_in_a_pass_over_blocks() -> None:
    laws = ("attention.keys.*", "attention.values.*", "attention.scale")
    diagnosis = told("scaled_dot_product_attention", in_blocks_of_four, laws)
    assert first(diagnosis) == ("block_tail_dropped", "online_softmax_output_not_rescaled")


def sinks_scaled_and_window_unlimited(query, key, value, *, is_causal=False, window=None, sinks=None, softcap=None):
    """Two mistakes: sinks beside unscaled products, and a window of which the right side is forgotten."""
    width = query.shape[-1]
    products = query.astype(np.float64) @ key.swapaxes(-1, -2)
    if sinks is not None:
        products = np.append(products, np.broadcast_to(sinks[:, None, None], (*products.shape[:3], 1)), axis=-1)
    logits = products / np.sqrt(width)
    if softcap:
        head, tail = logits[..., : key.shape[2]], logits[..., key.shape[2] :]
        logits = np.append(softcap * np.tanh(head / softcap), tail, axis=-1)
    distance = np.subtract.outer(np.arange(query.shape[2]), np.arange(key.shape[2]))
    hidden = distance < 0 if is_causal else np.zeros(distance.shape, bool)
    if window is not None and window[0] not in (None, -1):
        hidden = hidden | (distance > window[0])
    logits[..., : key.shape[2]][np.broadcast_to(hidden, (*logits.shape[:2], *hidden.shape))] = -np.inf
    return (softmaxed(logits)[..., : key.shape[2]] @ value).astype(query.dtype)


def test_two_mistakes_of_sinks_and_windows() -> None:
    laws = ("attention.sinks.*", "attention.window.*", "attention.order_of_steps")
    diagnosis = told("scaled_dot_product_attention", sinks_scaled_and_window_unlimited, laws)
    assert first(diagnosis) == ("sink_scaled", "window_right_side_unlimited")


def weights_of_keys_alone(query, key, *, mask=None, is_causal=False, sinks=None, softcap=None):
    """Divide by what the keys add up to: the sink is appended, softmaxed over, dropped, and divided away."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = softcap * torch.tanh(scores / softcap) if softcap else scores
    hidden = torch.zeros(scores.shape, dtype=torch.bool) if mask is None else ~mask.expand(scores.shape)
    if is_causal:
        hidden = hidden | torch.ones(scores.shape, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, -torch.inf)
    if sinks is None:
        return scores.softmax(-1).nan_to_num(0.0)
    column = sinks[:, None, None].expand(*scores.shape[:3], 1)
    shares = torch.cat([scores, column], dim=-1).softmax(-1)[..., :-1]
    return (shares / shares.sum(-1, keepdim=True)).nan_to_num(0.0)


def test_a_sink_of_weights_that_is_divided_away() -> None:
    diagnosis = told("attention_weights", weights_of_keys_alone, ("weights.sinks.*", "weights.scale"), **TORCH)
    assert first(diagnosis) == ("sink_renormalised_away",)


def queries_grouped_as_keys_lie(query, key, value, *, mask=None, is_causal=False):
    """Group query heads as (H/G, G) where they stand as (G, H/G)."""
    batch, heads, length, width = query.shape
    groups = query.reshape(batch, heads // key.shape[1], key.shape[1], length, width)
    logits = torch.einsum("bngid,bgjd->bngij", groups, key).reshape(batch, heads, length, -1) / width**0.5
    hidden = torch.zeros(logits.shape, dtype=torch.bool) if mask is None else ~mask.expand(logits.shape)
    if is_causal:
        hidden = hidden | torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
    weights = logits.masked_fill(hidden, -torch.inf).softmax(-1).reshape(*groups.shape[:4], -1)
    return torch.einsum("bngij,bgjd->bngid", weights, value).reshape(batch, heads, length, -1)


def test_grouped_query_attention() -> None:
    laws = ("grouped_query.repeated_heads", "grouped_query.scale", "grouped_query.mask.value")
    assert first(told("grouped_query_attention", queries_grouped_as_keys_lie, laws, **TORCH)) == (
        "gqa_head_index_wrong",
    )


def heads_tiled_and_windows_counting_themselves(query, key, value, *, is_causal=False, window=None):
    """Query head h reads key head h mod G; a window of w shows w keys on the left, the query's own among them."""
    group = query.shape[1] // key.shape[1]
    key, value = (np.tile(array.astype(np.float64), (1, group, 1, 1)) for array in (key, value))
    distance = np.subtract.outer(np.arange(query.shape[2]), np.arange(key.shape[2]))
    hidden = distance < 0 if is_causal else np.zeros(distance.shape, bool)
    left, right = window or (None, None)
    if left not in (None, -1):
        hidden = hidden | (distance >= left)
    if right not in (None, -1):
        hidden = hidden | (-distance > right)
    logits = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    return (softmaxed(np.where(hidden, -np.inf, logits)) @ value).astype(query.dtype)


def test_a_window_of_no_key_does_not_rule_out_the_convention_that_a_mistake_hides() -> None:
    laws = ("grouped_query.repeated_heads", "grouped_query.window.*", "grouped_query.scale")
    diagnosis = told("grouped_query_attention", heads_tiled_and_windows_counting_themselves, laws)
    assert first(diagnosis) == ("gqa_head_index_wrong",)
    assert ("window_counting", "exclusive") in diagnosis.suspects[0].changes


def heads_left_apart(x, context, weights, *, num_heads, mask=None):
    """Fold heads into the batch, and back in the wrong order of axes."""
    batch, length, width = x.shape

    def folded(tokens, matrix, bias):
        projected = tokens @ matrix + (0 if bias is None else bias)
        return np.concatenate(np.split(projected[:, None], num_heads, axis=-1), axis=1)

    query, key, value = (
        folded(tokens, matrix, bias)
        for tokens, matrix, bias in (
            (x, weights.w_q, weights.b_q),
            (context, weights.w_k, weights.b_k),
            (context, weights.w_v, weights.b_v),
        )
    )
    logits = query @ key.swapaxes(-1, -2) / (width // num_heads) ** 0.5
    logits = logits if mask is None else np.where(mask, logits, -np.inf)
    merged = np.ascontiguousarray(softmaxed(logits) @ value).reshape(batch, length, -1)
    return (merged @ weights.w_o + (0 if weights.b_o is None else weights.b_o)).astype(x.dtype)


def test_multi_head_attention() -> None:
    laws = ("multi_head.one_head", "multi_head.sum_of_heads", "multi_head.mask.value", "multi_head.biases")
    assert first(told("multi_head_attention", heads_left_apart, laws)) == ("heads_merge_without_transpose",)


def values_of_keys_left_as_they_are(x, context, weights, *, num_heads, mask=None):
    """Take queries, keys and values from two matrices, and return the heads side by side."""
    biases = [0 if bias is None else bias for bias in (weights.b_q, weights.b_k)]
    query, key = x @ weights.w_q + biases[0], context @ weights.w_k + biases[1]
    query, key = (one.reshape(*one.shape[:2], num_heads, -1).swapaxes(1, 2) for one in (query, key))
    logits = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    logits = logits if mask is None else np.where(mask, logits, -np.inf)
    merged = (softmaxed(logits) @ key).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (merged + (0 if weights.b_o is None else weights.b_o)).astype(x.dtype)


def test_heads_of_multi_head_attention_of_another_width_than_values() -> None:
    laws = ("multi_head.sum_of_heads", "multi_head.single_query", "multi_head.value_width")
    told_names = first(told("multi_head_attention", values_of_keys_left_as_they_are, laws))
    assert told_names == ("out_proj_missing", "value_uses_key_projection")


def merged_in_powers_of_two(output_a, lse_a, output_b, lse_b):
    """Kernels that count in base two merge so; the logarithms that come are natural."""
    both = torch.logsumexp(torch.stack([lse_a, lse_b]) * np.log(2.0), dim=0) / np.log(2.0)
    share = [torch.exp2(torch.nan_to_num(lse - both, nan=-torch.inf))[..., None] for lse in (lse_a, lse_b)]
    return share[0] * output_a + share[1] * output_b, both


def test_merging() -> None:
    laws = ("merge.value", "merge.union", "merge.both_empty", "merge.shift")
    assert "lse_base2_vs_e" in first(told("merge_attention", merged_in_powers_of_two, laws, **TORCH))


def merged_by_exponentials_alone(output_a, lse_a, output_b, lse_b):
    weight_a, weight_b = lse_a.exp(), lse_b.exp()
    return weight_a[..., None] * output_a + weight_b[..., None] * output_b, (weight_a + weight_b).log()


def test_two_mistakes_of_merging() -> None:
    laws = ("merge.value", "merge.union", "merge.shift")
    diagnosis = told("merge_attention", merged_by_exponentials_alone, laws, **TORCH)
    assert first(diagnosis) == ("merge_not_normalised", "softmax_no_max_subtraction")


def keys_gradient_unscaled(query, key, value, grad_output, *, mask=None, is_causal=False, scale=None):
    """The row term as rowsum(dO ∘ O), as FlashAttention has it; the scale forgotten in dK."""
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    logits = factor * np.einsum("bhid,bhjd->bhij", query, key)
    hidden = np.zeros(logits.shape, bool) if mask is None else ~np.broadcast_to(mask, logits.shape)
    if is_causal:
        hidden = hidden | ~np.tri(*logits.shape[-2:], dtype=bool)
    weights = softmaxed(np.where(hidden, -np.inf, logits))
    row = np.sum(grad_output * (weights @ value), axis=-1, keepdims=True)
    grad_logits = weights * (np.einsum("bhid,bhjd->bhij", grad_output, value) - row)
    parts = factor * grad_logits @ key, np.einsum("bhij,bhid->bhjd", grad_logits, query), None
    grad_value = np.einsum("bhij,bhid->bhjd", weights, grad_output)
    return tuple(part.astype(query.dtype) for part in (*parts[:2], grad_value))


BACKWARD = ("attention_backward.grad_key", "attention_backward.grad_value", "attention_backward.mask.value")


def test_backward() -> None:
    diagnosis = told("scaled_dot_product_attention_backward", keys_gradient_unscaled, BACKWARD)
    assert first(diagnosis) == ("custom_backward_wrong",)
    assert diagnosis is not None
    assert diagnosis.suspects[0].changes == (("factor_of_keys", "missing"),)


def keys_cut_off(query, key, value, *, mask=None, is_causal=False, scale=None):
    """A right result through which nothing flows back to the keys."""
    with torch.no_grad():
        key = key.clone()
    hidden = torch.zeros(query.shape[-2], key.shape[-2], dtype=torch.bool)
    hidden = torch.ones_like(hidden).triu(1) if is_causal else hidden
    hidden = hidden if mask is None else hidden | ~mask
    logits = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return logits.masked_fill(hidden, torch.finfo(logits.dtype).min).softmax(-1) @ value


def test_derived_backward_of_a_right_forward() -> None:
    target = SimpleNamespace(scaled_dot_product_attention=keys_cut_off, **TORCH)
    diagnosis = told_of(target, "scaled_dot_product_attention_backward", BACKWARD)
    assert first(diagnosis) == ("key_detached",)
