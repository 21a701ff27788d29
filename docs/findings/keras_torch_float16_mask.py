"""keras.ops.dot_product_attention on PyTorch adds −45850 to masked logits in float16, which larger ones outweigh."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

query, key = torch.full((1, 1, 1, 1), 300.0), torch.tensor([-180.0, 20.0]).reshape(1, 2, 1, 1)
value, mask = torch.tensor([1.0, 2.0]).reshape(1, 2, 1, 1), torch.tensor([[[[True, False]]]])
for dtype in (torch.float32, torch.float16):
    result = keras.ops.dot_product_attention(query.to(dtype), key.to(dtype), value.to(dtype), mask=mask)
    print(dtype, "the one visible key has the value 1; result", float(result))
    assert float(result) == (1 if dtype == torch.float32 else 2)
