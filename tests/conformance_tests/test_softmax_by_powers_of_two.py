"""A softmax by powers of two, as FlashAttention's and MLX's: 2^(x log₂ e) rounds what e^x does not, and is right."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from veriformer.conformance_tests import check

LOG2_E = math.log2(math.e)


def product_first(x: torch.Tensor) -> torch.Tensor:
    """Each logit is multiplied, and the greatest product taken away."""
    scaled = x.to(torch.promote_types(x.dtype, torch.float32)) * LOG2_E
    powers = torch.exp2(scaled - scaled.amax(dim=-1, keepdim=True))
    return (powers / powers.sum(dim=-1, keepdim=True)).to(x.dtype)


def difference_first(x: torch.Tensor) -> torch.Tensor:
    """The distance from the greatest logit is multiplied."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    powers = torch.exp2((wide - wide.amax(dim=-1, keepdim=True)) * LOG2_E)
    return (powers / powers.sum(dim=-1, keepdim=True)).to(x.dtype)


@pytest.mark.parametrize("softmax", (product_first, difference_first))
@pytest.mark.parametrize("seed", range(20))
def test_a_softmax_by_powers_of_two_is_not_accused(softmax: object, seed: int) -> None:
    right = SimpleNamespace(
        framework="torch", dtypes=("float32", "float16", "bfloat16"), conventions={"numerics": "fused"}, softmax=softmax
    )
    report = check(right, operations=("softmax",), tier="quick", seed=seed, shrink=False, diagnosis=False)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
