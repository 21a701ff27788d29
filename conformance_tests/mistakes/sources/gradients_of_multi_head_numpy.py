"""The backward passes of attention between projections in NumPy."""

from types import SimpleNamespace

import numpy as np

framework = "numpy"
dtypes = ("float32", "float64")


def rows(array):
    return array.reshape(-1, array.shape[-1])


def split(x, num_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, num_heads, width // num_heads).transpose(0, 2, 1, 3)


def merge(heads):
    batch, number, length, width = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, length, number * width)


def project(x, weight, bias):
    return x @ weight if bias is None else x @ weight + bias


def soften(logits, visible):
    logits = np.where(visible, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def attend_and_back(query, key, value, grad_heads, visible):
    scale = query.dtype.type(query.shape[-1] ** -0.5)
    weights = soften(query @ key.swapaxes(-1, -2) * scale, visible)
    grad_value = weights.swapaxes(-1, -2) @ grad_heads
    grad_weights = grad_heads @ value.swapaxes(-1, -2)
    average = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_logits = weights * (grad_weights - average) * scale
    return weights @ value, grad_logits @ key, grad_logits.swapaxes(-1, -2) @ query, grad_value


def multi_head_attention_backward(
    x, context, weights, grad_output, *, num_heads, num_kv_heads=None, mask=None, is_causal=False
):
    shared = num_kv_heads or num_heads
    group = num_heads // shared
    query = split(project(x, weights.w_q, weights.b_q), num_heads)
    key = split(project(context, weights.w_k, weights.b_k), shared).repeat(group, axis=1)
    value = split(project(context, weights.w_v, weights.b_v), shared).repeat(group, axis=1)
    visible = np.ones((x.shape[1], context.shape[1]), dtype=bool)
    if is_causal:
        visible = np.tri(*visible.shape, dtype=bool)
    if mask is not None:
        visible = visible & mask
    grad_heads = split(grad_output @ weights.w_o.T, num_heads)
    heads, *gradients = attend_and_back(query, key, value, grad_heads, visible)
    grad_query, grad_key, grad_value = gradients
    # Heads of a group that read one key add up their gradients.
    grad_key, grad_value = (
        one.reshape(len(x), shared, group, *one.shape[2:]).sum(axis=2) for one in (grad_key, grad_value)
    )
    grad_query, grad_key, grad_value = merge(grad_query), merge(grad_key), merge(grad_value)
    grad_x = grad_query @ weights.w_q.T
    grad_context = grad_key @ weights.w_k.T + grad_value @ weights.w_v.T
    return (
        grad_x,
        grad_context,
        SimpleNamespace(
            w_q=rows(x).T @ rows(grad_query),
            w_k=rows(context).T @ rows(grad_key),
            w_v=rows(context).T @ rows(grad_value),
            w_o=rows(merge(heads)).T @ rows(grad_output),
            b_q=None if weights.b_q is None else rows(grad_query).sum(axis=0),
            b_k=None if weights.b_k is None else rows(grad_key).sum(axis=0),
            b_v=None if weights.b_v is None else rows(grad_value).sum(axis=0),
            b_o=None if weights.b_o is None else rows(grad_output).sum(axis=0),
        ),
    )


def single_head_attention_backward(x, weights, grad_output, *, mask=None):
    query, key, value = x @ weights.w_q, x @ weights.w_k, x @ weights.w_v
    visible = np.ones((x.shape[1], x.shape[1]), dtype=bool) if mask is None else mask
    _, of_query, of_key, of_value = attend_and_back(query, key, value, grad_output, visible)
    grad_sequence = of_query @ weights.w_q.T + of_key @ weights.w_k.T + of_value @ weights.w_v.T
    return grad_sequence, {
        "w_q": rows(x).T @ rows(of_query),
        "w_k": rows(x).T @ rows(of_key),
        "w_v": rows(x).T @ rows(of_value),
    }
