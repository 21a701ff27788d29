"""The encoder-decoder of 2017 as a class, in NumPy, with additive masks of −1e30 and sinusoids in two halves."""

import numpy as np

architectures = {"encoder_decoder": ("vaswani",)}
NEGATIVE = np.float32(-1e30)


class Transformer:
    def __init__(self, weights, config):
        self.weights, self.config = weights, config

    def embed(self, ids):
        x = self.weights.embedding[ids] * np.sqrt(self.config.d_model)
        positions = np.arange(ids.shape[1])[:, None]
        rates = 1 / np.power(10000, np.arange(0, self.config.d_model, 2) / self.config.d_model)
        return (x + np.concatenate([np.sin(positions * rates), np.cos(positions * rates)], -1)).astype(np.float32)

    def attend(self, x, context, p, additive):
        def split(y):
            return y.reshape(y.shape[0], y.shape[1], self.config.num_heads, -1).swapaxes(1, 2)

        def dense(y, w, b):
            return y @ w if b is None else y @ w + b

        q, k, v = (
            split(dense(x, p.w_q, p.b_q)),
            split(dense(context, p.w_k, p.b_k)),
            split(dense(context, p.w_v, p.b_v)),
        )
        a = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1])) + additive
        a = np.exp(a - a.max(-1, keepdims=True))
        a = a / a.sum(-1, keepdims=True)
        return dense((a @ v).swapaxes(1, 2).reshape(x.shape), p.w_o, p.b_o)

    def add_and_norm(self, x, y, p):
        z = x + y
        z = z - z.mean(-1, keepdims=True)
        return z / np.sqrt(np.mean(z * z, -1, keepdims=True) + np.float32(self.config.eps)) * p.gamma + p.beta

    def network(self, x, p):
        return np.maximum(x @ p.w_1 + p.b_1, 0) @ p.w_2 + p.b_2

    def __call__(self, source, target, source_keep, target_keep):
        memory, source_bias = self.embed(source), np.where(source_keep, np.float32(0), NEGATIVE)[:, None, None, :]
        for layer in self.weights.encoder_layers:
            memory = self.add_and_norm(
                memory, self.attend(memory, memory, layer.self_attention, source_bias), layer.norm_1
            )
            memory = self.add_and_norm(memory, self.network(memory, layer.feed_forward), layer.norm_2)
        length = target.shape[1]
        keep = np.tri(length, dtype=bool)[None, None] & target_keep[:, None, None, :]
        causal_bias, y = np.where(keep, np.float32(0), NEGATIVE), self.embed(target)
        for layer in self.weights.decoder_layers:
            y = self.add_and_norm(y, self.attend(y, y, layer.self_attention, causal_bias), layer.norm_1)
            y = self.add_and_norm(y, self.attend(y, memory, layer.cross_attention, source_bias), layer.norm_2)
            y = self.add_and_norm(y, self.network(y, layer.feed_forward), layer.norm_3)
        return y @ self.weights.embedding.T


def encoder_decoder(source, target, weights, config, *, source_padding_mask=None, target_padding_mask=None):
    source_keep = np.ones(source.shape, bool) if source_padding_mask is None else source_padding_mask
    target_keep = np.ones(target.shape, bool) if target_padding_mask is None else target_padding_mask
    return Transformer(weights, config)(source, target, source_keep, target_keep)
