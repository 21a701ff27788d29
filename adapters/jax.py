"""JAX's own operations as an implementation; what JAX does not have is not declared.

jax.nn.standardize is layer normalisation without gain and shift and is left out. The functions are compiled: running
`jax.nn.dot_product_attention` operation by operation takes several times as long for each new shape. Compiled for the
CPU it refuses float16.

JAX has no optimizer: where Optax is installed, its own is there too.

Source: jax.nn.softmax, jax.nn.dot_product_attention, jax.nn.gelu and jax.nn.silu in JAX's documentation; those of
`optax_training`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax

if find_spec("optax") is not None:
    # The operations of this module are found by their names.
    from veriformer.adapters.optax_training import adamw_step as adamw_step
    from veriformer.adapters.optax_training import clip_by_global_norm as clip_by_global_norm
    from veriformer.adapters.optax_training import warmup_cosine_learning_rate as warmup_cosine_learning_rate

Array = Any

framework = "jax"
dtypes = ("float32", "bfloat16")
conventions = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "layout": "blhd",
    "window_counting": "inclusive",
    "kv_grouping": "repeat_each",
    "gelu_form": "tanh",
    "adamw_eps": "after_correction",
    "adamw_decay": "times_learning_rate",
    "clip_norm_eps": "none",
    "warmup_start": "zero",
}
limitations = ("value_width",)


@partial(jax.jit)
def softmax(x: Array) -> Array:
    """Turn each row of logits into a probability distribution."""
    return jax.nn.softmax(x, axis=-1)


def dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    mask: Array | None,
    bias: Array | None,
    is_causal: bool,
    scale: float | None,
    window: tuple[int, int] | None,
) -> Array:
    """Average the values, weighted by how well each key matches the query; a window has a count on either side."""
    return jax.nn.dot_product_attention(
        query,
        key,
        value,
        bias=_rank_4(bias),
        mask=_rank_4(mask),
        is_causal=is_causal,
        scale=scale,
        local_window_size=window,
    )


def attention_operation(kernel: Callable[..., Array]) -> Callable[..., Array]:
    """Return the operation that `kernel`, `dot_product_attention` or what is made of it, computes.

    What depends on a window's sides is settled outside of the kernel, which may be compiled for windows of any size.
    """

    def scaled_dot_product_attention(
        query: Array,
        key: Array,
        value: Array,
        *,
        mask: Array | None = None,
        bias: Array | None = None,
        is_causal: bool = False,
        scale: float | None = None,
        window: tuple[int | None, int | None] | None = None,
    ) -> Array:
        # Counted from the end: a sample that is mapped has no axis for the batch.
        limited = _limited(window, query.shape[-3] + key.shape[-3])
        return kernel(query, key, value, mask=mask, bias=bias, is_causal=is_causal, scale=scale, window=limited)

    return scaled_dot_product_attention


scaled_dot_product_attention = attention_operation(jax.jit(dot_product_attention, static_argnames=("is_causal",)))
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


def _limited(window: tuple[int | None, int | None] | None, longest: int) -> tuple[int, int] | None:
    """Return a window with the length of everything where a side is without limit: jax takes counts only."""
    if window is None:
        return None
    left, right = (longest if side in (None, -1) else side for side in window)
    return left, right


def _rank_4(table: Array | None) -> Array | None:
    """Return an (L, S) mask or bias with the batch and head axes that jax documents."""
    return table if table is None or table.ndim == 4 else table[None, None]
