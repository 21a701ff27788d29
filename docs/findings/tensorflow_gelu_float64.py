"""tf.nn.gelu multiplies float64 by 1/√2 rounded to float32: about 8 of 16 digits are right."""

import math

import numpy as np
import tensorflow as tf

x = np.linspace(-3, 3, 7)
exact = np.array([value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x])
found = tf.nn.gelu(tf.constant(x), approximate=False).numpy()
assert found.dtype == np.float64 and 1e-9 < np.abs(found - exact).max() < 1e-7
print("exact     ", exact.tolist())
print("tensorflow", found.tolist())
