"""What is read and changes nothing is told, but not what has an effect without a gradient, or is known to have none."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")

WIDTH, HEADS, EXPERTS = 16, 2, 8


class Attention(torch.nn.Module):
    """Attention with biases of keys, which change nothing, and perhaps with sinks."""

    def __init__(self, sinks: str) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.kind = sinks
        self.sinks = torch.nn.Parameter(torch.randn(HEADS)) if sinks else None

    def forward(self, x: Any) -> Any:
        maps = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (one(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in maps)
        logits = q @ k.mT * q.shape[-1] ** -0.5
        logits = logits.masked_fill(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1), float("-inf"))
        if self.kind == "added to each logit":
            weights = (logits + self.sinks[:, None, None]).softmax(-1)
        elif self.kind == "a column":
            sinks = self.sinks[:, None, None].expand(len(x), -1, x.shape[1], 1)
            weights = torch.cat((logits, sinks), -1).softmax(-1)[..., :-1]
        else:
            weights = logits.softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


class Experts(torch.nn.Module):
    """The likeliest of many experts, by scores to which a bias is added for the choice alone."""

    def __init__(self) -> None:
        super().__init__()
        self.router = torch.nn.Linear(WIDTH, EXPERTS, bias=False)
        self.balance = torch.nn.Parameter(0.01 * torch.randn(EXPERTS))
        self.experts = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS))

    def forward(self, x: Any) -> Any:
        scores = self.router(x).sigmoid()
        chosen = (scores + self.balance).argmax(-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = chosen == number
            y[rows] = scores[rows][:, number, None] * expert(x[rows])
        return y


class Decoder(torch.nn.Module):
    def __init__(self, sinks: str = "") -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.places = torch.nn.Embedding(11, WIDTH), torch.nn.Embedding(32, WIDTH)
        self.norm1, self.norm2, self.norm3 = (torch.nn.LayerNorm(WIDTH) for _ in range(3))
        self.attention, self.mixture = Attention(sinks), Experts()
        self.head = torch.nn.Linear(WIDTH, 11)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens) + self.places(torch.arange(tokens.shape[1]))
        x = x + self.attention(self.norm1(x))
        x = x + self.mixture(self.norm2(x))
        return self.head(self.norm3(x))


@pytest.mark.parametrize(
    ("sinks", "said"),
    (
        (
            "added to each logit",
            ["attention.sinks is read and changes nothing: the results are the same, whatever it is"],
        ),
        ("a column", []),
        ("", []),
    ),
    ids=("added", "a column", "none"),
)
def test_what_changes_nothing_is_told(sinks: str, said: list[str]) -> None:
    report = check_model(Decoder(sinks), (torch.arange(10).reshape(2, 5) % 11,))
    assert [one for one in report.notices if "nothing" in one] == said
    assert report.departures == ()
