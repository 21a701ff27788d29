"""torch.nn.MultiheadAttention with its evaluation fast path switched off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.backends import mha
from veriformer.adapters import torch
from veriformer.adapters.variants.settings import within

framework = "torch"
dtypes = torch.dtypes
conventions = torch.conventions
limitations = torch.limitations


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Switch the fast path off for a while; the setting is the process's."""
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)


multi_head_attention = within(without_fast_path, torch.multi_head_attention)
