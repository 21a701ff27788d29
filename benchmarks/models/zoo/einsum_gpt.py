# minimal gpt: raw parameters and einsum, nothing else
import torch
from torch import nn

V, D, H, K, F, L, C = 58, 26, 2, 14, 60, 3, 18  # vocab, width, heads, head width, hidden, layers, context


def p(*shape, std=0.02):
    return nn.Parameter(torch.randn(*shape) * std)


def norm(x, g, b):
    mu = x.mean(-1, keepdim=True)
    sigma2 = ((x - mu) ** 2).mean(-1, keepdim=True)
    return (x - mu) / (sigma2 + 1e-5).sqrt() * g + b


class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.W_Q, self.W_K, self.W_V = p(H, D, K), p(H, D, K), p(H, D, K)
        self.b_Q, self.b_K, self.b_V = p(H, K, std=0), p(H, K, std=0), p(H, K, std=0)
        self.W_O, self.b_O = p(H, K, D), p(D, std=0)
        self.W_in, self.b_in = p(D, F), p(F, std=0)
        self.W_out, self.b_out = p(F, D), p(D, std=0)
        self.g1, self.b1 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))
        self.g2, self.b2 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def attend(self, x):
        q = torch.einsum("bqd,hdk->bqhk", x, self.W_Q) + self.b_Q
        k = torch.einsum("bsd,hdk->bshk", x, self.W_K) + self.b_K
        v = torch.einsum("bsd,hdk->bshk", x, self.W_V) + self.b_V
        s = torch.einsum("bqhk,bshk->bhqs", q, k) / K**0.5
        t = x.shape[1]
        s = s + torch.full((t, t), -1e5, dtype=s.dtype, device=s.device).triu(1)
        a = torch.softmax(s, -1)
        z = torch.einsum("bhqs,bshk->bqhk", a, v)
        return torch.einsum("bqhk,hkd->bqd", z, self.W_O) + self.b_O

    def feed(self, x):
        hidden = torch.einsum("btd,df->btf", x, self.W_in) + self.b_in
        hidden = 0.5 * hidden * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (hidden + 0.044715 * hidden**3)))
        return torch.einsum("btf,fd->btd", hidden, self.W_out) + self.b_out

    def forward(self, x):
        x = x + self.attend(norm(x, self.g1, self.b1))
        return x + self.feed(norm(x, self.g2, self.b2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_E, self.W_pos = p(V, D), p(C, D)
        self.layers = nn.ModuleList([Layer(n) for n in range(L)])
        self.g, self.b = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))
        self.W_U = p(D, V)

    def forward(self, tokens):
        x = self.W_E[tokens] + self.W_pos[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return torch.einsum("btd,dv->btv", norm(x, self.g, self.b), self.W_U)


def build():
    torch.manual_seed(9)
    return Model()
