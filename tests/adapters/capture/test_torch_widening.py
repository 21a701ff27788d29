"""A torch model that casts to single precision is run in float64 throughout, and its gradients are held to a value."""

from __future__ import annotations

from typing import Any

import torch
from veriformer import check
from veriformer.adapters.capture.torch_widening import widened


def test_casts_to_single_precision_are_casts_to_double() -> None:
    x = torch.ones(2, dtype=torch.float64)
    with widened():
        assert x.float().dtype == x.to(torch.float32).dtype == torch.zeros(1, dtype=torch.float32).dtype
        assert x.float().dtype == torch.float64
        assert x.softmax(-1, dtype=torch.float32).dtype == torch.float64
        assert x.to(torch.complex64).dtype == torch.complex128
        assert x.to(torch.bfloat16).dtype == torch.bfloat16
        assert torch.arange(2).dtype == torch.int64
    with widened("float32"):
        assert x.float().dtype == torch.float32


class Normalised(torch.autograd.Function):
    """An RMS norm in single precision, with a backward pass by hand."""

    sums = False

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        h = x.float()
        r = torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)
        ctx.save_for_backward(h, r, weight)
        return (weight.float() * h * r).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        h, r, weight = ctx.saved_tensors
        n, g = h * r, upstream.float() * weight.float()
        whole = (g * n).sum(-1, keepdim=True) if Normalised.sums else (g * n).mean(-1, keepdim=True)
        return (r * (g - n * whole)).to(upstream.dtype), (upstream.float() * n).flatten(0, -2).sum(0).to(weight.dtype)


class Norm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(12) + 0.5)

    def forward(self, x: Any) -> Any:
        return Normalised.apply(x, self.weight)


def test_a_backward_pass_by_hand_in_single_precision_is_judged(monkeypatch: Any) -> None:
    inputs = (torch.randn(2, 5, 12),)
    assert check(Norm(), inputs=inputs).exit_status == 0
    monkeypatch.setattr(Normalised, "sums", True)
    wrong = check(Norm(), inputs=inputs)
    assert [one.law.id for one in wrong.results if one.status == "failed"] == ["model.gradients.value"]
