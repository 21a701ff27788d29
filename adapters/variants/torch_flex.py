"""PyTorch's flex_attention, not compiled: the unfused form that it has for trying things out.

A mask or the causal flag is its `mask_mod`, a bias its `score_mod`; both may be given at once.
PyTorch's own switch turns off that flex_attention compiles itself at every new shape: the same operations are then run
one by one. Its documentation asks for torch.compile around the call, which needs a C++ compiler on the CPU.

Source: torch.nn.attention.flex_attention, in PyTorch's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.nn.attention import flex_attention as flex
from veriformer.adapters import torch

Tensor = Any
Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

framework = "torch"
dtypes = torch.dtypes
conventions = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "layout": "bhld",
    "kv_grouping": "repeat_each",
}
# On the CPU flex_attention has no gradient: it raises NotImplementedError where one is asked for.
scaled_dot_product_attention_backward = None
grouped_query_attention_backward = None


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Average the values, weighted by how well each key matches the query."""
    sizes = (*query.shape[:3], key.shape[2])
    with _run_one_by_one():
        return flex.flex_attention(
            query,
            key,
            value,
            score_mod=_added(bias, sizes),
            block_mask=_block_mask(mask, is_causal, sizes),
            scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )


grouped_query_attention = scaled_dot_product_attention


def _added(bias: Tensor | None, sizes: tuple[int, ...]) -> Callable[..., Tensor] | None:
    if bias is None:
        return None
    table = bias.expand(sizes)
    return lambda score, b, h, i, j: score + table[b, h, i, j]


def _block_mask(mask: Tensor | None, is_causal: bool, sizes: tuple[int, ...]) -> flex.BlockMask | None:
    rules = [rule for rule in (_shown(mask, sizes), _not_later if is_causal else None) if rule is not None]
    if not rules:
        return None
    batch, heads, queries, keys = sizes
    return flex.create_block_mask(flex.and_masks(*rules), batch, heads, queries, keys, device="cpu")


def _shown(mask: Tensor | None, sizes: tuple[int, ...]) -> Rule | None:
    if mask is None:
        return None
    table = mask.expand(sizes)
    return lambda b, h, i, j: table[b, h, i, j]


def _not_later(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i >= j


@contextmanager
def _run_one_by_one() -> Iterator[None]:
    before = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    try:
        yield
    finally:
        flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = before
