"""keras.layers.MultiHeadAttention answers a query that sees no key otherwise when its weights are asked for."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

layer = keras.layers.MultiHeadAttention(num_heads=1, key_dim=2, use_bias=False, kernel_initializer="ones")
x, nothing = np.ones((1, 3, 2), "float32"), np.zeros((1, 3, 3), bool)
without = layer(x, x, attention_mask=nothing)
output, _ = layer(x, x, attention_mask=nothing, return_attention_scores=True)
print("without weights", without[0, 0], " with weights", output[0, 0])
assert without[0, 0, 0] == 4 and output[0, 0, 0] == 0
