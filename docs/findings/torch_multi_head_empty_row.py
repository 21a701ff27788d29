"""torch.nn.MultiheadAttention answers a query that sees no key with NaN or with zeros, depending on its path."""

import torch

attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
x, padding = torch.ones(1, 3, 8), torch.ones(1, 3, dtype=torch.bool)  # True: every key is to be ignored
for need_weights, gradients, nan in ((True, True, True), (False, True, False), (False, False, True)):
    with torch.set_grad_enabled(gradients):
        output, _ = attention(x, x, x, key_padding_mask=padding, need_weights=need_weights)
    print(f"need_weights={need_weights}, gradients {gradients}: {output[0, 0, :3].tolist()}")
    assert output.isnan().all() == nan
