"""Experts in stacks of matrices, gathered for each token or sorted by expert, right ones and such that lose some."""

import torch
from small import WIDTH, Block, Decoder
from torch import nn

EXPERTS, HIDDEN = 6, 40


class Stacked(nn.Module):
    """Experts in stacks of matrices (experts, in, out)."""

    def __init__(self, way, over="chosen"):
        super().__init__()
        self.way, self.over = way, over
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.gate, self.up = (nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) * 0.1) for _ in range(2))
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) * 0.1)

    def shares(self, rows):
        scores = self.router(rows)
        if self.over == "all":
            best, which = scores.softmax(-1).topk(2, dim=-1)
            return best, which
        best, which = scores.topk(2, dim=-1)
        return best.softmax(-1), which

    def forward(self, x):
        rows = x.reshape(-1, WIDTH)
        return getattr(self, self.way)(rows, *self.shares(rows)).view_as(x)

    def gathered(self, rows, shares, which):
        hidden = nn.functional.silu(torch.einsum("td,tkdf->tkf", rows, self.gate[which]))
        hidden = hidden * torch.einsum("td,tkdf->tkf", rows, self.up[which])
        return (torch.einsum("tkf,tkfd->tkd", hidden, self.down[which]) * shares[..., None]).sum(1)

    def by_expert(self, rows, shares, which):
        """Give each token with each of its experts, in the order of the experts."""
        order = which.reshape(-1).argsort()
        expert, token = which.reshape(-1)[order], order // which.shape[-1]
        taken = rows[token][:, None]
        hidden = nn.functional.silu(taken @ self.gate[expert]) * (taken @ self.up[expert])
        return token, (hidden @ self.down[expert])[:, 0] * shares.reshape(-1)[order][:, None]

    def of_gpt_oss(self, rows, shares, which, added=1):
        """Clamp both branches, which the first matrices give in turns, and add one to the second one."""
        both = torch.einsum("tkdf,td->tkf", torch.stack([self.gate, self.up], -1).flatten(-2)[which], rows)
        gate, up = both[..., ::2].clamp(max=7.0), both[..., 1::2].clamp(-7.0, 7.0)
        hidden = gate * torch.sigmoid(1.702 * gate) * (up + added)
        return torch.einsum("tkf,tkfd,tk->td", hidden, self.down[which], shares)

    def of_gpt_oss_without_one(self, rows, shares, which):
        return self.of_gpt_oss(rows, shares, which, added=0)

    def ordered(self, rows, shares, which):
        return torch.zeros_like(rows).index_add(0, *self.by_expert(rows, shares, which))

    def overwritten(self, rows, shares, which):
        token, given = self.by_expert(rows, shares, which)
        return torch.zeros_like(rows).index_copy(0, token, given)


def model(way, over="chosen"):
    return Decoder(lambda: Block(lambda: Stacked(way, over)))
