"""A text encoder as a functional model of Keras: token and position embeddings, two post-norm blocks, pooled classes."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import layers

WIDTH, HEADS, FFN, VOCAB, LENGTH = 32, 4, 48, 59, 12


def transformer_block(x, i):
    attn = layers.MultiHeadAttention(num_heads=HEADS, key_dim=WIDTH // HEADS, name=f"attn_{i}")(x, x)
    attn = layers.Dropout(0.1)(attn)
    out1 = layers.LayerNormalization(epsilon=1e-6, name=f"norm1_{i}")(x + attn)
    ffn = layers.Dense(FFN, activation="relu", name=f"ffn1_{i}")(out1)
    ffn = layers.Dense(WIDTH, name=f"ffn2_{i}")(ffn)
    ffn = layers.Dropout(0.1)(ffn)
    return layers.LayerNormalization(epsilon=1e-6, name=f"norm2_{i}")(out1 + ffn)


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.token_emb = layers.Embedding(vocab_size, embed_dim)
        self.pos_emb = layers.Embedding(maxlen, embed_dim)

    def call(self, x):
        positions = keras.ops.arange(0, keras.ops.shape(x)[-1], 1)
        return self.token_emb(x) + self.pos_emb(positions)


def build():
    inputs = layers.Input((LENGTH,), dtype="int32")
    x = TokenAndPositionEmbedding(LENGTH, VOCAB, WIDTH, name="embedding")(inputs)
    for i in range(2):
        x = transformer_block(x, i)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dense(20, activation="relu", name="hidden")(x)
    model = keras.Model(inputs, layers.Dense(5, name="classes")(x))
    rng = np.random.default_rng(4)
    for w in model.weights:
        noise = rng.normal(size=w.shape)
        if len(w.shape) == 1 or w.path.endswith("bias"):
            w.assign(np.asarray(w.value) + 0.2 * noise)
        else:
            w.assign(noise * 0.4)
    return model


def inputs():
    return np.random.default_rng(6).integers(0, VOCAB, (3, LENGTH))
