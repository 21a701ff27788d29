"""Forward and backward passes written out by hand (numpy)."""
import numpy as np


def softmax_forward(z):
    z = z - z.max(axis=-1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(axis=-1, keepdims=True)
    return p


def softmax_backward(dp, p):
    """Gradient with respect to the logits, given dL/dp and the probabilities p."""
    return p * (dp - np.sum(dp * p, axis=-1, keepdims=True))


def layernorm_forward(x, gamma, beta, eps=1e-5):
    """x: (N, D). Returns the output and a cache for layernorm_backward."""
    mu = x.mean(axis=1, keepdims=True)
    var = x.var(axis=1, keepdims=True)
    inv_std = 1.0 / np.sqrt(var + eps)
    x_hat = (x - mu) * inv_std
    return gamma * x_hat + beta, (x_hat, inv_std, gamma)


def layernorm_backward(dout, cache):
    """Returns dx (N, D), dgamma (D,), dbeta (D,)."""
    x_hat, inv_std, gamma = cache
    D = dout.shape[1]
    dbeta = dout.sum(axis=0)
    dgamma = (dout * x_hat).sum(axis=0)
    dxhat = dout * gamma
    dx = (inv_std / D) * (
        D * dxhat
        - dxhat.sum(axis=1, keepdims=True)
        - x_hat * (dxhat * x_hat).sum(axis=1, keepdims=True)
    )
    return dx, dgamma, dbeta


def cross_entropy(logits, y):
    """logits: (N, C), y: (N,) ints. Returns (mean loss, dlogits)."""
    N = logits.shape[0]
    m = logits.max(axis=1, keepdims=True)
    lse = m[:, 0] + np.log(np.exp(logits - m).sum(axis=1))
    loss = np.mean(lse - logits[np.arange(N), y])
    grad = softmax_forward(logits)
    grad[np.arange(N), y] -= 1.0
    return loss, grad / N
