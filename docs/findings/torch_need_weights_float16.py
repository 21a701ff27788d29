"""torch.nn.MultiheadAttention in float16 gives NaN with need_weights=True where a logit exceeds 65504."""

import torch

attention = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True, dtype=torch.float16).eval()
torch.nn.init.constant_(attention.in_proj_weight, 1.0)
x = torch.full((1, 2, 4), 64.0, dtype=torch.float16)  # query and key 256, logits 256² · 4 / 2 = 131072
with torch.no_grad():
    for need_weights in (False, True):
        output, _ = attention(x, x, x, need_weights=need_weights)
        print(f"need_weights={need_weights}: {output[0, 0].tolist()}")
        assert output.isnan().any() == need_weights
