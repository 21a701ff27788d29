"""Attention with windows, soft caps and sinks, and merging of parts, written by hand in PyTorch."""

import torch

framework = "torch"
dtypes = ("float32", "float64")


def visible_keys(shape, device, mask, is_causal, window):
    """Return which keys each query may see, (L, S) or what the mask broadcasts to."""
    queries, keys = shape[-2:]
    distance = torch.arange(queries, device=device)[:, None] - torch.arange(keys, device=device)
    visible = torch.ones(queries, keys, dtype=torch.bool, device=device)
    if is_causal:
        visible &= distance >= 0
    if window is not None:
        left, right = window
        if left not in (None, -1):
            visible &= distance <= left
        if right not in (None, -1):
            visible &= distance >= -right
    return visible if mask is None else visible & mask


def scaled_dot_product_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    logits = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    if bias is not None:
        logits = logits + bias
    visible = visible_keys(logits.shape, logits.device, mask, is_causal, window)
    logits = logits.masked_fill(~visible, float("-inf"))
    if sinks is not None:
        logits = torch.cat((logits, sinks[:, None, None].expand(*logits.shape[:-1], 1)), dim=-1)
    highest = logits.amax(dim=-1, keepdim=True)
    exponentials = torch.exp(logits - highest.masked_fill(highest == float("-inf"), 0.0))
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / total.masked_fill(total == 0.0, 1.0)
    return weights[..., : key.shape[-2]] @ value


def grouped_query_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    group = query.shape[1] // key.shape[1]
    options = {"mask": mask, "bias": bias, "is_causal": is_causal, "scale": scale}
    options |= {"window": window, "softcap": softcap, "sinks": sinks}
    return scaled_dot_product_attention(
        query, key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1), **options
    )


def merge_attention(output_a, lse_a, output_b, lse_b):
    # Two parts without keys have −∞ each: e^(−∞ + ∞) would be NaN, and so would the gradient of logaddexp.
    empty = torch.maximum(lse_a, lse_b) == float("-inf")
    lse = torch.logaddexp(lse_a.masked_fill(empty, 0.0), lse_b.masked_fill(empty, 0.0))
    share_a, share_b = torch.exp(lse_a - lse)[..., None], torch.exp(lse_b - lse)[..., None]
    return share_a * output_a + share_b * output_b, lse.masked_fill(empty, float("-inf"))
