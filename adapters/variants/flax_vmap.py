"""The layers of Flax NNX given one sample at a time, mapped over the batch with jax.vmap and compiled."""

from __future__ import annotations

from veriformer.adapters import flax, flax_layers
from veriformer.adapters.jax_transforms import compiled, mapped

framework = "jax"
dtypes = flax.dtypes
conventions = flax.conventions
limitations = flax.limitations

scaled_dot_product_attention = compiled(
    mapped(flax_layers.scaled_dot_product_attention, batched=("query", "key", "value"))
)
grouped_query_attention = scaled_dot_product_attention
multi_head_attention = compiled(mapped(flax_layers.multi_head_attention, batched=("x", "context")))
layer_norm = compiled(mapped(flax_layers.layer_norm, batched=("x",)))
rms_norm = compiled(mapped(flax_layers.rms_norm, batched=("x",)))
token_embedding = compiled(mapped(flax_layers.token_embedding, batched=("tokens",)))
