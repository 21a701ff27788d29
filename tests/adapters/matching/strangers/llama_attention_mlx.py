import mlx.core as mx
import mlx.nn as nn


def rms_norm(x, weight, eps=1e-5):
    ms = mx.mean(mx.square(x.astype(mx.float32)), axis=-1, keepdims=True)
    return weight * (x * mx.rsqrt(ms + eps)).astype(x.dtype)


def rope(x, offset=0, base=10000.0):
    """x: (B, H, L, D), first position = offset. Non-traditional layout: feature i goes with i + D/2."""
    L, D = x.shape[-2], x.shape[-1]
    half = D // 2
    inv = base ** (-mx.arange(0, half).astype(mx.float32) / half)
    pos = mx.arange(offset, offset + L).astype(mx.float32)
    theta = pos[:, None] * inv[None, :]
    c, s = mx.cos(theta), mx.sin(theta)
    a, b = x[..., :half], x[..., half:]
    return mx.concatenate([a * c - b * s, a * s + b * c], axis=-1).astype(x.dtype)


class Attention(nn.Module):
    """Causal grouped-query attention with rope. `cache` is None or the (keys, values)
    returned by the previous call; returns (output, new cache)."""

    def __init__(self, dims: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        hd = dims // n_heads
        self.scale = hd ** -0.5
        self.wq = nn.Linear(dims, n_heads * hd, bias=False)
        self.wk = nn.Linear(dims, n_kv_heads * hd, bias=False)
        self.wv = nn.Linear(dims, n_kv_heads * hd, bias=False)
        self.wo = nn.Linear(n_heads * hd, dims, bias=False)

    def __call__(self, x, cache=None):
        B, L, _ = x.shape
        q = self.wq(x).reshape(B, L, self.n_heads, -1).transpose(0, 2, 1, 3)
        k = self.wk(x).reshape(B, L, self.n_kv_heads, -1).transpose(0, 2, 1, 3)
        v = self.wv(x).reshape(B, L, self.n_kv_heads, -1).transpose(0, 2, 1, 3)

        offset = cache[0].shape[2] if cache is not None else 0
        q, k = rope(q, offset), rope(k, offset)
        if cache is not None:
            k = mx.concatenate([cache[0], k], axis=2)
            v = mx.concatenate([cache[1], v], axis=2)

        rep = self.n_heads // self.n_kv_heads
        kk, vv = mx.repeat(k, rep, axis=1), mx.repeat(v, rep, axis=1)
        scores = (q * self.scale) @ kk.transpose(0, 1, 3, 2)
        S = k.shape[2]
        visible = mx.arange(S)[None, :] <= (mx.arange(L) + offset)[:, None]
        scores = mx.where(visible, scores, -float("inf"))
        w = mx.softmax(scores, axis=-1)
        out = (w @ vv).transpose(0, 2, 1, 3).reshape(B, L, -1)
        return self.wo(out), (k, v)
