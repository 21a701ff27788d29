"""torch's flash attention for the CPU refuses queries, keys and values whose last axis is not contiguous."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

strided = torch.ones(1, 1, 2, 8)[..., ::2]
for x in (strided.contiguous(), strided):
    try:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            print("strides", x.stride(), attention(x, x, x)[0, 0, 0].tolist())
        assert x.is_contiguous()
    except RuntimeError as error:
        print("strides", x.stride(), error)
