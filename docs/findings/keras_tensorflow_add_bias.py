"""keras.ops.add on TensorFlow adds an (H, 1) operand along axis 1 where that has H entries, against broadcasting."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x, bias = np.zeros((1, 3, 3, 1), np.float32), np.arange(3, dtype=np.float32).reshape(3, 1)
added = np.array(keras.ops.add(x, bias))
assert not np.array_equal(added, x + bias)
print("numpy", (x + bias)[0, :, :, 0].tolist())
print("keras", added[0, :, :, 0].tolist())
