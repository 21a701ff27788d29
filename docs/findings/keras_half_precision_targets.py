"""keras's sparse cross-entropy rounds class numbers to the dtype of the loss, or of the logits where one is ignored."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

targets, logits = np.array([257, 256]), np.zeros((2, 300), "float32")
logits[:, 257] = 5.0
for dtype in ("float32", "bfloat16"):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=dtype, reduction=None)(targets, logits)
    print(dtype, loss)
ignoring = keras.losses.sparse_categorical_crossentropy(targets, keras.ops.cast(logits, dtype), True, ignore_class=257)
assert loss[0] > 6 and ignoring[1] == 0, "257 ignored"
