"""PyTorch's functional attention with the flash kernel only, which exists for the CPU too; Dv must be D there."""

from __future__ import annotations

from functools import partial

from torch.nn.attention import SDPBackend, sdpa_kernel
from veriformer.adapters import torch
from veriformer.adapters.variants.settings import within

framework = "torch"
dtypes = torch.dtypes
conventions = torch.conventions
limitations = ("value_width",)

_flash_only = partial(sdpa_kernel, SDPBackend.FLASH_ATTENTION)

scaled_dot_product_attention = within(_flash_only, torch.scaled_dot_product_attention)
grouped_query_attention = within(_flash_only, torch.grouped_query_attention)
