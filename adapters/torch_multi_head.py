"""torch.nn.MultiheadAttention made from the interface's weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.backends import mha

Tensor = Any


def multi_head_layer(weights: Any, num_heads: int) -> Any:
    """Return torch.nn.MultiheadAttention in evaluation mode; without biases when no weight has one.

    RuntimeError when the widths are not those of torch: E for queries, keys and values alike.
    """
    biases = (weights.b_q, weights.b_k, weights.b_v, weights.b_o)
    has_bias = any(bias is not None for bias in biases)
    # Made without memory, so that no random initial weights are drawn from the caller's generator.
    layer = torch.nn.MultiheadAttention(
        weights.w_q.shape[0],
        num_heads,
        bias=has_bias,
        batch_first=True,
        device="meta",
        dtype=weights.w_q.dtype,
    )
    layer.load_state_dict(_state(weights, biases if has_bias else None), assign=True)
    return layer.eval()


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Switch off, for a while, the fast path of torch's layers in evaluation; the setting is the process's."""
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)


def mask_per_head(mask: Tensor | None, num_heads: int, x: Tensor, context: Tensor) -> Tensor | None:
    """Return an (L, S) or rank-4 mask as the (B·H, L, S) that torch takes."""
    if mask is None:
        return None
    shape = (x.shape[0], num_heads, x.shape[1], context.shape[1])
    return mask.expand(shape).reshape(-1, *shape[2:])


def _state(weights: Any, biases: tuple[Tensor | None, ...] | None) -> dict[str, Tensor]:
    """Return the weights as torch stores them: transposed, the three input projections one above the other."""
    state = {
        "in_proj_weight": torch.cat((weights.w_q.T, weights.w_k.T, weights.w_v.T)),
        "out_proj.weight": weights.w_o.T.contiguous(),
    }
    if biases is not None:
        projections = (weights.w_q, weights.w_k, weights.w_v, weights.w_o)
        filled = [_or_zeros(bias, weight) for bias, weight in zip(biases, projections, strict=True)]
        state |= {"in_proj_bias": torch.cat(filled[:3]), "out_proj.bias": filled[3]}
    return state


def _or_zeros(bias: Tensor | None, weight: Tensor) -> Tensor:
    return weight.new_zeros(weight.shape[1]) if bias is None else bias
