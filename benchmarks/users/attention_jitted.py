"""The eager attention of this folder under jax.jit, compiled for each shape, flag, window and soft cap."""

from __future__ import annotations

import attention_eager
import jax

framework = "jax"

_STATIC = ("is_causal", "window", "softcap")

scaled_dot_product_attention = jax.jit(attention_eager.scaled_dot_product_attention, static_argnames=_STATIC)
grouped_query_attention = jax.jit(attention_eager.grouped_query_attention, static_argnames=_STATIC)
