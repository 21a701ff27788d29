"""Operations that write in place, each on its own copy: what the caller handed over stays as it was."""

import torch

framework = "torch"
dtypes = ("float32", "float64")


def softmax(x):
    y = x.clone()
    y.sub_(y.amax(dim=-1, keepdim=True))
    y.exp_()
    y.div_(y.sum(dim=-1, keepdim=True))
    return y


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False):
    q = query.clone()
    q.mul_(1.0 / q.shape[-1] ** 0.5)
    scores = torch.matmul(q, key.transpose(2, 3))
    if bias is not None:
        scores += bias
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    if is_causal:
        rows, columns = scores.shape[-2:]
        scores.masked_fill_(torch.arange(columns)[None, :] > torch.arange(rows)[:, None], float("-inf"))
    scores.sub_(scores.amax(dim=-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min))
    scores.exp_()
    total = scores.sum(dim=-1, keepdim=True)
    scores.div_(total.masked_fill_(total == 0, 1.0))
    return scores @ value


def layer_norm(x, gamma, beta, *, eps):
    y = x.clone()
    y -= y.mean(-1, keepdim=True)
    y /= (y.pow(2).mean(-1, keepdim=True) + eps).sqrt_()
    return y.mul_(gamma).add_(beta)
