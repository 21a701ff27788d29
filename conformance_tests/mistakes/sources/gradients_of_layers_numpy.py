"""The backward pass of an encoder layer in NumPy: each sublayer forwards, then back from the last to the first."""

from types import SimpleNamespace

import numpy as np

framework = "numpy"
dtypes = ("float64",)


def rows(array):
    return array.reshape(-1, array.shape[-1])


def plus(product, bias):
    return product if bias is None else product + bias


def total(gradient, bias):
    return None if bias is None else rows(gradient).sum(axis=0)


def split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


def merge(heads):
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


def normalise(x, norm, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) * norm.gamma + norm.beta


def normalise_back(x, norm, eps, gradient):
    centred = x - x.mean(axis=-1, keepdims=True)
    root = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    unit, scaled = centred / root, gradient * norm.gamma
    along = unit * (scaled * unit).mean(axis=-1, keepdims=True)
    grad_x = (scaled - scaled.mean(axis=-1, keepdims=True) - along) / root
    return grad_x, SimpleNamespace(gamma=rows(gradient * unit).sum(axis=0), beta=rows(gradient).sum(axis=0))


class Attention:
    def __init__(self, weights, num_heads, visible):
        self.weights, self.num_heads, self.visible = weights, num_heads, visible

    def forward(self, y):
        weights = self.weights
        self.query = split(plus(y @ weights.w_q, weights.b_q), self.num_heads)
        self.key = split(plus(y @ weights.w_k, weights.b_k), self.num_heads)
        self.value = split(plus(y @ weights.w_v, weights.b_v), self.num_heads)
        logits = self.query @ self.key.swapaxes(-1, -2) / np.sqrt(self.query.shape[-1])
        logits = np.where(self.visible, logits, -np.inf)
        exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
        self.shares = exponentials / exponentials.sum(axis=-1, keepdims=True)
        self.merged = merge(self.shares @ self.value)
        return plus(self.merged @ weights.w_o, weights.b_o)

    def back(self, y, gradient):
        weights = self.weights
        above = split(gradient @ weights.w_o.T, self.num_heads)
        of_shares = above @ self.value.swapaxes(-1, -2)
        of_logits = self.shares * (of_shares - (self.shares * of_shares).sum(axis=-1, keepdims=True))
        of_logits = of_logits / np.sqrt(self.query.shape[-1])
        of_query = merge(of_logits @ self.key)
        of_key = merge(of_logits.swapaxes(-1, -2) @ self.query)
        of_value = merge(self.shares.swapaxes(-1, -2) @ above)
        grad_y = of_query @ weights.w_q.T + of_key @ weights.w_k.T + of_value @ weights.w_v.T
        return grad_y, SimpleNamespace(
            w_q=rows(y).T @ rows(of_query),
            w_k=rows(y).T @ rows(of_key),
            w_v=rows(y).T @ rows(of_value),
            w_o=rows(self.merged).T @ rows(gradient),
            b_q=total(of_query, weights.b_q),
            b_k=total(of_key, weights.b_k),
            b_v=total(of_value, weights.b_v),
            b_o=total(gradient, weights.b_o),
        )


class Network:
    def __init__(self, weights, activation):
        self.weights, self.activation = weights, activation

    def forward(self, y):
        self.z = plus(y @ self.weights.w_1, self.weights.b_1)
        if self.activation == "relu":
            self.hidden, self.slope = np.maximum(self.z, 0), (self.z > 0) * 1.0
        else:
            gate = 1 / (1 + np.exp(-np.clip(self.factor() * self.z, -700, 700)))
            self.hidden = self.z * gate
            self.slope = gate + self.factor() * self.z * gate * (1 - gate)
        return plus(self.hidden @ self.weights.w_2, self.weights.b_2)

    def factor(self):
        # SiLU, and the form of GELU that is like it.
        return 1.0 if self.activation == "silu" else 1.702

    def back(self, y, gradient):
        of_z = gradient @ self.weights.w_2.T * self.slope
        return of_z @ self.weights.w_1.T, SimpleNamespace(
            w_1=rows(y).T @ rows(of_z),
            w_2=rows(self.hidden).T @ rows(gradient),
            b_1=total(of_z, self.weights.b_1),
            b_2=total(gradient, self.weights.b_2),
        )


conventions = {"gelu_form": "sigmoid"}


def forward(x, norm, sublayer, norm_first, eps):
    if norm_first:
        return x + sublayer.forward(normalise(x, norm, eps))
    return normalise(x + sublayer.forward(x), norm, eps)


def back(x, norm, sublayer, norm_first, eps, gradient):
    if norm_first:
        read = normalise(x, norm, eps)
        sublayer.forward(read)
        of_read, of_weights = sublayer.back(read, gradient)
        through, of_norm = normalise_back(x, norm, eps, of_read)
        return gradient + through, of_weights, of_norm
    of_sum, of_norm = normalise_back(x + sublayer.forward(x), norm, eps, gradient)
    through, of_weights = sublayer.back(x, of_sum)
    return of_sum + through, of_weights, of_norm


def encoder_layer_backward(x, weights, grad_output, *, num_heads, norm_first, activation, eps, padding_mask=None):
    visible = True if padding_mask is None else padding_mask[:, None, None, :]
    attention = Attention(weights.self_attention, num_heads, visible)
    network = Network(weights.feed_forward, activation)
    between = forward(x, weights.norm_1, attention, norm_first, eps)
    gradient, of_network, of_norm_2 = back(between, weights.norm_2, network, norm_first, eps, grad_output)
    grad_x, of_attention, of_norm_1 = back(x, weights.norm_1, attention, norm_first, eps, gradient)
    return grad_x, SimpleNamespace(
        self_attention=of_attention, norm_1=of_norm_1, feed_forward=of_network, norm_2=of_norm_2
    )
