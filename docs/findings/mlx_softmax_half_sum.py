"""mx.softmax adds the exponentials of bfloat16 in bfloat16, unless it is told precise=True."""

import mlx.core as mx
import numpy as np

x = mx.array(np.random.default_rng(0).standard_normal(1000)).astype(mx.bfloat16)
for precise, least, most in [(False, 0.02, 1.0), (True, 0.0, 0.005)]:
    weights = mx.softmax(x, axis=-1, precise=precise).astype(mx.float32)
    print("precise" if precise else "default", "sum of the weights", total := mx.sum(weights).item())
    assert least <= abs(total - 1.0) < most
