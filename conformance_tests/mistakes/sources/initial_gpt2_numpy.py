"""Initial weights with GPT-2's rule, in NumPy; the tests change one line at a time."""

import math

import numpy as np

framework = "numpy"
conventions = {"initial_deviation": "fixed", "initial_residual": "by_depth", "initial_bias": "zero"}


class Initialiser:
    def __init__(self, seed, std=0.02):
        self.seed, self.std = seed, std
        self.rng = np.random.default_rng(seed)

    def matrix(self, n_in, n_out, scale=1.0):
        return (self.rng.standard_normal((n_in, n_out)) * self.std * scale).astype(np.float32)

    def table(self, rows, width):
        return (self.rng.standard_normal((rows, width)) * self.std).astype(np.float32)


def norm(config):
    gain = np.ones(config.d_model, np.float32)
    if config.norm == "rms_norm":
        return {"gamma": gain}
    return {"gamma": gain, "beta": np.zeros(config.d_model, np.float32)}


def attention(config, init, residual):
    width = config.d_model
    narrow = width // config.num_heads * config.num_kv_heads
    weights = {
        "w_q": init.matrix(width, width),
        "w_k": init.matrix(width, narrow),
        "w_v": init.matrix(width, narrow),
        "w_o": init.matrix(width, width, residual),
    }
    if config.biases:
        biases = {f"b_{name}": np.zeros(weights[f"w_{name}"].shape[1], np.float32) for name in "qkvo"}
        weights.update(biases)
    return weights


def mlp(config, init, residual):
    width, hidden = config.d_model, config.d_ff
    if config.gated:
        gate, up = init.matrix(width, hidden), init.matrix(width, hidden)
        return {"w_gate": gate, "w_up": up, "w_down": init.matrix(hidden, width, residual)}
    weights = {"w_1": init.matrix(width, hidden), "w_2": init.matrix(hidden, width, residual)}
    if config.biases:
        weights |= {"b_1": np.zeros(hidden, np.float32), "b_2": np.zeros(width, np.float32)}
    return weights


def layer(config, init, residual):
    return {
        "self_attention": attention(config, init, residual),
        "norm_1": norm(config),
        "feed_forward": mlp(config, init, residual),
        "norm_2": norm(config),
    }


def initial_weights(config, *, seed):
    init = Initialiser(seed)
    residual = 1 / math.sqrt(2 * config.num_layers)
    weights = {
        "embedding": init.table(config.vocabulary_size, config.d_model),
        "positions": init.table(config.max_length, config.d_model) if config.positions == "learned" else None,
        "embedding_norm": norm(config) if config.embedding_norm else None,
        "layers": [layer(config, init, residual) for _ in range(config.num_layers)],
        "final_norm": norm(config) if config.final_norm else None,
    }
    if config.architecture != "bert" and not config.tied_embedding:
        weights["unembedding"] = init.matrix(config.d_model, config.vocabulary_size)
    return weights
