"""keras.ops computes float64 tensors of PyTorch in float32; the result of attention says so, that of norms does not."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

x = torch.randn(1, 3, 2, 8, dtype=torch.float64)
attention = keras.ops.dot_product_attention(x, x, x)
norm = keras.ops.layer_normalization(x, epsilon=1e-3)
error = (norm - torch.nn.functional.layer_norm(x, (8,), eps=1e-3)).abs().max()
print("attention", attention.dtype, " layer_normalization", norm.dtype, "with an error of", float(error))
assert attention.dtype == torch.float32
assert norm.dtype == torch.float64 and error > 1e-9
