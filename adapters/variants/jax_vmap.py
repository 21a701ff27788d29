"""JAX's own operations given one sample at a time, mapped over the batch with jax.vmap and compiled."""

from __future__ import annotations

from veriformer.adapters import jax
from veriformer.adapters.jax_transforms import compiled, mapped
from veriformer.adapters.variants import jax_eager

framework = "jax"
dtypes = jax.dtypes
conventions = jax.conventions
limitations = jax.limitations

softmax = compiled(mapped(jax_eager.softmax, batched=("x",)))
scaled_dot_product_attention = compiled(
    mapped(jax_eager.scaled_dot_product_attention, batched=("query", "key", "value"))
)
grouped_query_attention = scaled_dot_product_attention
gelu = compiled(mapped(jax_eager.gelu, batched=("x",)))
silu = compiled(mapped(jax_eager.silu, batched=("x",)))
