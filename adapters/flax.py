"""The layers of Flax NNX with their defaults as an implementation, compiled: see `veriformer.adapters.flax_layers`.

LayerNorm computes its variance in one pass unless told otherwise and loses a large mean, which a law forbids: see
docs/findings.md.
"""

from __future__ import annotations

from veriformer.adapters import flax_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = ("float32", "bfloat16")
conventions = {
    "mask_polarity": "true_attends",
    "causal_alignment": "top_left",
    "causal_with_mask": "intersect",
    "layout": "blhd",
    "kv_grouping": "repeat_each",
    "layer_norm_eps": "inside_root",
    "rms_norm_gain": "gamma",
}
limitations = ("value_width",)

scaled_dot_product_attention = compiled(flax_layers.scaled_dot_product_attention)
# Flax tells from the shapes that several query heads share a key/value head.
grouped_query_attention = scaled_dot_product_attention
multi_head_attention = compiled(flax_layers.multi_head_attention)
layer_norm = compiled(flax_layers.layer_norm)
rms_norm = compiled(flax_layers.rms_norm)
token_embedding = compiled(flax_layers.token_embedding)
# Not compiled: it would be anew for each rate and each seed.
dropout = flax_layers.dropout
