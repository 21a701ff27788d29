"""The layers of Equinox as an implementation, compiled: see `veriformer.adapters.equinox_layers`.

RotaryPositionalEmbedding keeps one table of angles for all thetas, so that its base is left at 10,000: see
docs/findings.md.
"""

from __future__ import annotations

from veriformer.adapters import equinox_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")
conventions = {
    "mask_polarity": "true_attends",
    "rotary_pairing": "half",
    "layer_norm_eps": "inside_root",
    "rms_norm_gain": "gamma",
}

multi_head_attention = compiled(equinox_layers.multi_head_attention)
# Equinox keeps eps among what is static.
layer_norm = compiled(equinox_layers.layer_norm, static=("eps",))
rms_norm = compiled(equinox_layers.rms_norm, static=("eps",))
token_embedding = compiled(equinox_layers.token_embedding)
rotary_embedding = compiled(equinox_layers.rotary_embedding)
# Not compiled: it would be anew for each rate and each seed.
dropout = equinox_layers.dropout
