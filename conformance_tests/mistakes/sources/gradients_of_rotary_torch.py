"""Rotary embeddings in PyTorch whose backward pass is by hand; the tests change one line at a time."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
conventions = {"rotary_pairing": "half"}


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Turn(torch.autograd.Function):
    """Turn the first components of vectors, of which cos and sin have an angle each."""

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        width = cos.shape[-1]
        turning, rest = x[..., :width], x[..., width:]
        return torch.cat((turning * cos + rotate_half(turning) * sin, rest), dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        cos, sin = ctx.saved_tensors
        width = cos.shape[-1]
        turning, rest = grad_output[..., :width], grad_output[..., width:]
        turned_back = turning * cos - rotate_half(turning) * sin
        return torch.cat((turned_back, rest), dim=-1), None, None


def rotary_embedding(x, positions, *, base=10000.0, rotary_dim=None):
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = positions.to(torch.float32)[..., None] * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    angles = angles.unsqueeze(1) if positions.ndim == 2 else angles
    return Turn.apply(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))
