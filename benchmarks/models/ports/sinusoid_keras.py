"""A decoder in Keras after the original Transformer: sinusoids, scaled embeddings, norms after the sublayers, relu."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from drawing import generator
from keras import layers, ops

VOCABULARY, WIDTH, HEADS, HIDDEN, LENGTH, DEPTH = 73, 36, 3, 64, 13, 2


def sinusoids(length, width, dtype):
    """All sines, then all cosines."""
    half = ops.arange(width // 2, dtype=dtype)
    rates = ops.exp(half * (-np.log(10000.0) / (width // 2)))
    angles = ops.arange(length, dtype=dtype)[:, None] * rates[None, :]
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


class Embedding(layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.table = layers.Embedding(VOCABULARY, WIDTH, name="table")

    def call(self, tokens):
        x = self.table(tokens) * WIDTH**0.5
        return x + sinusoids(tokens.shape[1], WIDTH, x.dtype)


class DecoderBlock(layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, name="attention")
        self.norm1 = layers.LayerNormalization(epsilon=1e-6, name="norm1")
        self.up = layers.Dense(HIDDEN, activation="relu", name="up")
        self.down = layers.Dense(WIDTH, name="down")
        self.norm2 = layers.LayerNormalization(epsilon=1e-6, name="norm2")

    def call(self, x):
        x = self.norm1(x + self.attention(x, x, use_causal_mask=True))
        return self.norm2(x + self.down(self.up(x)))


def redrawn(path, shape, numbers):
    """Gains around 1, biases around 0, kernels by their width."""
    noise = numbers.normal(size=shape)
    if path.endswith("gamma"):
        return 1 + 0.3 * noise
    if path.endswith(("beta", "bias")):
        return 0.3 * noise
    if path.endswith("embeddings"):
        return 0.3 * noise
    return 1.2 * noise / np.sqrt(WIDTH if path.endswith("kernel") and "down" not in path else HIDDEN)


def build():
    numbers = generator()
    tokens = keras.Input((LENGTH,), dtype="int32")
    x = Embedding(name="embedding")(tokens)
    for i in range(DEPTH):
        x = DecoderBlock(name=f"block{i}")(x)
    model = keras.Model(tokens, layers.Dense(VOCABULARY, name="head")(x))
    for weight in model.weights:
        weight.assign(redrawn(weight.path, weight.shape, numbers))
    return model


def inputs():
    return np.random.default_rng(14).integers(1, VOCABULARY, (2, LENGTH))
