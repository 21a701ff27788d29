"""A mask of an attention that changes results and hides nothing breaks the laws of padding; a right one holds."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer import check

torch = pytest.importorskip("torch")


class SelfAttention(torch.nn.Module):
    """Attention of four heads whose mask, True at what may be attended, is applied in one of several ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.way, self.qkv, self.out = way, torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Return the output for x (B, L, E) and a mask (B, 1, 1, L)."""
        return self.of_heads(*self.qkv(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4), mask)

    def of_heads(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        """Return the output for what each head has of its own, (B, H, L, D)."""
        scores = q @ k.mT / 8**0.5
        if mask is not None and self.way != "after the softmax":
            scores = scores.masked_fill(mask == 0, {"right": -1e9, "hides nothing": 1e-9}[self.way])
        weights = scores.softmax(-1)
        if mask is not None and self.way == "after the softmax":
            weights = weights.masked_fill(mask == 0, 0.0)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Attention(SelfAttention):
    """The same, of queries, keys and values that are handed over apart."""

    def forward(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """Return the output for q (B, L, E), k and v (B, S, E) and a mask (B, 1, 1, S)."""
        parts = zip(self.qkv.weight.chunk(3), self.qkv.bias.chunk(3), (q, k, v), strict=True)
        split = [(x @ w.T + b).unflatten(-1, (4, 8)).transpose(1, 2) for w, b, x in parts]
        return self.of_heads(*split, mask)


@pytest.mark.parametrize("kind", (SelfAttention, Attention))
@pytest.mark.parametrize(
    ("way", "status"), (("right", "passed"), ("hides nothing", "failed"), ("after the softmax", "failed"))
)
def test_a_mask_is_tried_and_has_to_hide(kind: type[SelfAttention], way: str, status: str) -> None:
    report: Any = check(kind(way).eval())
    statuses = {one.law.id: one.status for one in report.results}
    assert statuses["model.padding.content"] == status
    assert report.exit_status == (status == "failed")
