"""PyTorch's functional attention with the math kernel only: products, softmax and product, one after another."""

from __future__ import annotations

from functools import partial

from torch.nn.attention import SDPBackend, sdpa_kernel
from veriformer.adapters import torch
from veriformer.adapters.variants.settings import within

framework = "torch"
dtypes = torch.dtypes
conventions = torch.conventions

_math_only = partial(sdpa_kernel, SDPBackend.MATH)

scaled_dot_product_attention = within(_math_only, torch.scaled_dot_product_attention)
grouped_query_attention = within(_math_only, torch.grouped_query_attention)
