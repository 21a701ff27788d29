"""A selective state-space model after Mamba, with a plain loop over time."""

import torch
from drawn import redrawn
from torch import nn

V, D, S, R, N = 29, 12, 4, 3, 2


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(D, 4 * D, bias=False)
        self.conv = nn.Conv1d(2 * D, 2 * D, 3, groups=2 * D, padding=2)
        self.x_proj = nn.Linear(2 * D, R + 2 * S, bias=False)
        self.dt_proj = nn.Linear(R, 2 * D)
        self.A_log = nn.Parameter(torch.arange(1.0, S + 1).log().repeat(2 * D, 1))
        self.D = nn.Parameter(torch.ones(2 * D))
        self.out_proj = nn.Linear(2 * D, D, bias=False)

    def forward(self, x):
        t = x.shape[1]
        u, z = self.in_proj(x).chunk(2, -1)
        u = nn.functional.silu(self.conv(u.transpose(1, 2))[..., :t].transpose(1, 2))
        dt, b, c = self.x_proj(u).split([R, S, S], -1)
        dt = nn.functional.softplus(self.dt_proj(dt))
        a = -torch.exp(self.A_log)
        state = u.new_zeros(u.shape[0], 2 * D, S)
        outs = []
        for i in range(t):
            state = torch.exp(dt[:, i, :, None] * a) * state + (dt[:, i] * u[:, i])[..., None] * b[:, i, None]
            outs.append((state * c[:, i, None]).sum(-1))
        y = torch.stack(outs, 1) + self.D * u
        return self.out_proj(y * nn.functional.silu(z))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.mixers = nn.ModuleList([Mamba() for _ in range(N)])
        self.norms = nn.ModuleList([nn.RMSNorm(D, eps=1e-5) for _ in range(N + 1)])

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, mixer in zip(self.norms, self.mixers, strict=False):
            x = x + mixer(norm(x))
        return self.norms[-1](x) @ self.embedding.weight.T


def build():
    return redrawn(Model())


def inputs():
    return torch.randint(0, V, (2, 6), generator=torch.Generator().manual_seed(4))
