"""keras.losses.SparseCategoricalCrossentropy refuses sequences of logits of a single class: it drops the class axis."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
print("two classes", float(loss(np.zeros((2, 3), int), np.zeros((2, 3, 2)))))
try:
    loss(np.zeros((2, 3), int), np.zeros((2, 3, 1)))
    raise AssertionError
except ValueError as error:
    print("one class  ", error)
