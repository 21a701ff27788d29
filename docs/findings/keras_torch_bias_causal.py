"""keras.ops.dot_product_attention on PyTorch takes a bias beside is_causal as long as Dv = D, for the kernel's sake."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

for width in (4, 5):
    x, value, bias = torch.ones(1, 3, 1, 4), torch.ones(1, 3, 1, width), torch.zeros(1, 1, 3, 3)
    try:
        print("Dv", width, keras.ops.dot_product_attention(x, x, value, bias=bias, is_causal=True).shape)
        assert width == 4
    except RuntimeError as error:
        print("Dv", width, error)
