import numpy as np


def softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


def split_heads(x, num_heads):
    # (B, L, E) -> (B*H, L, E/H)
    B, L, E = x.shape
    x = x.reshape(B, L, num_heads, E // num_heads)
    return x.transpose(0, 2, 1, 3).reshape(B * num_heads, L, E // num_heads)


def merge_heads(x, num_heads):
    # (B*H, L, D) -> (B, L, H*D)
    BH, L, D = x.shape
    x = x.reshape(BH // num_heads, num_heads, L, D)
    return x.transpose(0, 2, 1, 3).reshape(BH // num_heads, L, num_heads * D)


def attention(Q, K, V, mask=None):
    """Q: (L, D) or (B*H, L, D); K: (..., S, D); V: (..., S, Dv).

    mask, if given, is added to the logits (0 = keep, -inf or a very negative
    number = drop) and has to broadcast to (..., L, S). Every query must keep a key.
    """
    logits = np.matmul(Q, np.swapaxes(K, -1, -2)) / Q.shape[-1] ** 0.5
    if mask is not None:
        logits = logits + mask
    return np.matmul(softmax(logits), V)
