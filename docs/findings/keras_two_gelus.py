"""keras.ops.gelu is the tanh approximation and keras.activations.gelu, which layers use, the exact function."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

operation, activation = float(keras.ops.gelu(2.0)), float(keras.layers.Activation("gelu")(np.ones(1) * 2)[0])
print("keras.ops.gelu(2)", operation, " the layer's", activation)
assert abs(operation - 1.9545977) < 1e-6 < 5e-5 < abs(operation - activation)
