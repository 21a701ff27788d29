"""torch's cross_entropy with label smoothing is inf in float16 for an ordinary loss: it sums before it divides."""

import torch
from torch.nn.functional import cross_entropy

logits = torch.randn(64, 1000, generator=torch.Generator().manual_seed(0))
for dtype in (torch.float32, torch.float16):
    for smoothing in (0.0, 0.1):
        loss = cross_entropy(logits.to(dtype), torch.arange(64), label_smoothing=smoothing)
        print(f"{dtype}, label_smoothing={smoothing}: {loss:.3f}")
        assert loss.isinf() == (dtype == torch.float16 and smoothing > 0.0)
