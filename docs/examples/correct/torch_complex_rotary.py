"""Rotary embedding with complex numbers, as in the code that was published with Llama."""

import torch

framework = "torch"


def precompute_freqs_cis(dim, positions, theta):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].double() / dim))
    freqs = positions.double()[..., None] * freqs
    return torch.polar(torch.ones_like(freqs), freqs).to(torch.complex64)


def rotary_embedding(x, positions, *, base=10000.0):
    freqs_cis = precompute_freqs_cis(x.shape[-1], positions, base)
    if freqs_cis.ndim == 3:
        freqs_cis = freqs_cis[:, None]
    x_ = torch.view_as_complex(x.float().contiguous().unflatten(-1, (-1, 2)))
    return torch.view_as_real(x_ * freqs_cis).flatten(-2).type_as(x)
