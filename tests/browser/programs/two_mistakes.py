import numpy as np


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    logits = query @ np.swapaxes(key, -1, -2)
    if is_causal:
        causal = np.tril(np.ones(logits.shape[-2:], bool))
        mask = causal if mask is None else mask & causal
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.nan_to_num(weights / weights.sum(axis=-1, keepdims=True)) @ value


def rms_norm(x, gamma, *, eps=1e-6):
    return x / (np.sqrt((x * x).mean(axis=-1, keepdims=True)) + eps) * gamma
