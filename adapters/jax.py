"""JAX's own operations as an implementation; what JAX does not have is not declared.

jax.nn.standardize is layer normalisation without gain and shift and is left out. The functions are compiled: running
`jax.nn.dot_product_attention` operation by operation takes several times as long for each new shape. Compiled for the
CPU it refuses float16.

Source: jax.nn.softmax, jax.nn.dot_product_attention, jax.nn.gelu and jax.nn.silu in JAX's documentation.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

Array = Any

framework = "jax"
dtypes = ("float32", "bfloat16")
conventions = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "layout": "blhd",
    "kv_grouping": "repeat_each",
    "gelu_form": "tanh",
}
limitations = ("value_width",)


@partial(jax.jit)
def softmax(x: Array) -> Array:
    """Turn each row of logits into a probability distribution."""
    return jax.nn.softmax(x, axis=-1)


@partial(jax.jit, static_argnames=("is_causal",))
def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Average the values, weighted by how well each key matches the query."""
    return jax.nn.dot_product_attention(
        query, key, value, bias=_rank_4(bias), mask=_rank_4(mask), is_causal=is_causal, scale=scale
    )


# jax tells from the shapes that several query heads share a key/value head.
grouped_query_attention = scaled_dot_product_attention


@partial(jax.jit)
def gelu(x: Array) -> Array:
    """Weigh each entry by the tanh approximation: jax's default form."""
    return jax.nn.gelu(x)


@partial(jax.jit)
def silu(x: Array) -> Array:
    """Weigh each entry by its own logistic function."""
    return jax.nn.silu(x)


def _rank_4(table: Array | None) -> Array | None:
    """Return an (L, S) mask or bias with the batch and head axes that jax documents."""
    return table if table is None or table.ndim == 4 else table[None, None]
