"""Keras on its PyTorch backend, where attention and the norms are PyTorch's kernels behind Keras's arguments.

Not declared, for reasons that are in docs/findings.md: float16, where a mask hides too little; float64, which Keras
computes in float32; a bias, which some kernels refuse together with the causal flag; and the loss,
which refuses a single class.
"""

from __future__ import annotations

from typing import Any

from veriformer.adapters.keras_backend import require_backend

require_backend("torch")

from veriformer.adapters import keras_layers  # noqa: E402  (only where the backend is the right one)

Tensor = Any

framework = "torch"
dtypes = ("float32", "bfloat16")
conventions = keras_layers.CONVENTIONS
limitations = ("multi_head_attention.value_width",)

softmax = keras_layers.softmax


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Average the values, weighted by how well each key matches the query; the heads may share keys and values."""
    return keras_layers.scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal, scale=scale)


# Keras tells from the shapes that several query heads share a key/value head.
grouped_query_attention = scaled_dot_product_attention
multi_head_attention = keras_layers.multi_head_attention
layer_norm = keras_layers.layer_norm
rms_norm = keras_layers.rms_norm
# A layer copies the weights that it is given into variables of its own: no gradient flows back to those given.
layer_norm_backward = None
rms_norm_backward = None
token_embedding = keras_layers.token_embedding
# The layer keeps a copy of the table as its own variable, to which the gradient goes.
token_embedding_backward = None
gelu = keras_layers.gelu
silu = keras_layers.silu
