"""JAX's own operations without compilation, operation by operation; float16 too, which compiled attention refuses."""

from __future__ import annotations

from inspect import unwrap

from veriformer.adapters import jax

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")
conventions = jax.conventions
limitations = jax.limitations

softmax = unwrap(jax.softmax)
scaled_dot_product_attention = jax.attention_operation(jax.dot_product_attention)
grouped_query_attention = scaled_dot_product_attention
gelu = unwrap(jax.gelu)
silu = unwrap(jax.silu)
