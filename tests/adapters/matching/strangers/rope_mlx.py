import mlx.core as mx


def rope_table(n, dim, base=10000.0):
    """cos and sin, both (n, dim // 2)"""
    freqs = mx.exp(-mx.log(mx.array(base)) * mx.arange(0, dim, 2) / dim)
    angles = mx.arange(n)[:, None] * freqs
    return mx.cos(angles), mx.sin(angles)


def apply_rope(x, cos, sin):
    """
    GPT-NeoX rotary embedding, x: (B, H, L, D), cos/sin: (L, D/2).
    With x = [x1, x2] split in the middle of the last axis:

        [x1 * cos - x2 * sin,  x2 * cos + x1 * sin]
    """
    x1, x2 = mx.split(x, 2, axis=-1)
    rotated = mx.concatenate([x2, -x1], axis=-1)
    cos = mx.concatenate([cos, cos], axis=-1)
    sin = mx.concatenate([sin, sin], axis=-1)
    return x * cos + rotated * sin


def swiglu(x, w_gate, w_up, w_down):
    """x: (..., E), w_gate and w_up: (F, E), w_down: (E, F)"""
    g = x @ w_gate.T
    return ((g * mx.sigmoid(g)) * (x @ w_up.T)) @ w_down.T
