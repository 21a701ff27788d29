"""The attention of transformers' OpenAI GPT hides later tokens by a logit of −1e4: lower logits let them through."""

import torch
from transformers import OpenAIGPTConfig
from transformers.models.openai.modeling_openai import Attention

torch.manual_seed(0)
attention = Attention(8, 4, OpenAIGPTConfig(n_head=2), scale=True).eval()
x = torch.randn(1, 3, 8)
later = torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1)
for size, leaks in ((1.0, False), (1e4, True)):
    first, second = (attention(size * one)[0][0, :2] for one in (x, later))
    print(f"inputs of size {size:g}: the last token changes those before it by {(first - second).abs().max():.2g}")
    assert (first != second).any() == leaks
