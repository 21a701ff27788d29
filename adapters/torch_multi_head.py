"""torch.nn.MultiheadAttention made from the interface's weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.backends import mha
from torch.func import functional_call

Tensor = Any


def multi_head_layer(weights: Any, num_heads: int) -> Any:
    """Return torch.nn.MultiheadAttention in evaluation mode; without biases when no weight has one.

    RuntimeError when the widths are not those of torch: E for queries, keys and values alike.
    """
    has_bias = has_biases(weights)
    # Made without memory, so that no random initial weights are drawn from the caller's generator.
    layer = torch.nn.MultiheadAttention(
        weights.w_q.shape[0],
        num_heads,
        bias=has_bias,
        batch_first=True,
        device="meta",
        dtype=weights.w_q.dtype,
    )
    return loaded(layer, attention_state(weights, biased=has_bias))


def loaded(layer: Any, state: dict[str, Tensor]) -> Any:
    """Return a module that was made without memory, in evaluation mode and with these parameters.

    Parameters are leaves: where gradients are to reach what they were made from, each call is given that instead.
    """
    layer = layer.eval()
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in state.values()):
        return lambda *arguments, **keywords: functional_call(layer, state, arguments, keywords)
    layer.load_state_dict(state, assign=True)
    return layer


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


def attention_state(weights: Any, *, biased: bool) -> dict[str, Tensor]:
    """Return projections as torch stores them: transposed, those of queries, keys and values one above the other."""
    state = {
        "in_proj_weight": torch.cat((weights.w_q.T, weights.w_k.T, weights.w_v.T)),
        "out_proj.weight": weights.w_o.T.contiguous(),
    }
    if biased:
        pairs = ((weights.b_q, weights.w_q), (weights.b_k, weights.w_k), (weights.b_v, weights.w_v))
        state["in_proj_bias"] = torch.cat([or_zeros(bias, weight) for bias, weight in pairs])
        state["out_proj.bias"] = or_zeros(weights.b_o, weights.w_o)
    return state


def has_biases(weights: Any) -> bool:
    """Return whether any of a sublayer's biases is given."""
    return any(value is not None for name, value in vars(weights).items() if name.startswith("b_"))


def or_zeros(bias: Tensor | None, weight: Tensor) -> Tensor:
    """Return a bias, zeros in place of none."""
    return weight.new_zeros(weight.shape[1]) if bias is None else bias
