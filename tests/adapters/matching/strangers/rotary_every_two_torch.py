import torch


def rotate_every_two(x: torch.Tensor) -> torch.Tensor:
    """(x0, x1, x2, x3, ...) -> (-x1, x0, -x3, x2, ...)"""
    a = x[..., ::2]
    b = x[..., 1::2]
    return torch.stack((-b, a), dim=-1).flatten(-2)


def rotary_embedding(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, base: float = 10_000.0):
    """RoPE as in the RoFormer paper: the pair (x[2i], x[2i+1]) at position p is rotated
    by the angle p * base^(-2i/d).

    q, k: (B, L, H, d)
    positions: (L,) integer positions
    """
    d = q.shape[-1]
    inv_freq = base ** (-torch.arange(0, d, 2, dtype=torch.float32, device=q.device) / d)
    angles = positions.float()[:, None] * inv_freq[None, :]
    angles = torch.cat((angles, angles), dim=-1)[None, :, None, :]
    cos, sin = angles.cos().to(q.dtype), angles.sin().to(q.dtype)
    q = q * cos + rotate_every_two(q) * sin
    k = k * cos + rotate_every_two(k) * sin
    return q, k


def rotary_attention(q, k, v, positions, causal=True):
    """(B, L, H, d) attention with rotary positions."""
    q, k = rotary_embedding(q, k, positions)
    scores = torch.einsum("blhd,bshd->bhls", q, k) / q.shape[-1] ** 0.5
    if causal:
        L = scores.shape[-1]
        scores = scores + torch.full((L, L), float("-inf"), device=q.device).triu(1)
    return torch.einsum("bhls,bshd->blhd", scores.softmax(-1), v)
