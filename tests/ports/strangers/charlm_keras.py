"""The character model as a subclassed Keras model."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import charlm_lightning
import keras
import numpy as np
from keras import layers, ops


class Block(layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.n1 = layers.LayerNormalization(epsilon=1e-5)
        self.mix = layers.MultiHeadAttention(heads, width // heads)
        self.n2 = layers.LayerNormalization(epsilon=1e-5)
        self.up = layers.Dense(4 * width, activation=lambda x: keras.activations.gelu(x, approximate=True))
        self.down = layers.Dense(width)

    def build(self, shape):
        self.n1.build(shape)
        self.mix.build(shape, shape)
        self.n2.build(shape)
        self.up.build(shape)
        self.down.build((*shape[:-1], self.up.units))

    def call(self, x):
        y = self.n1(x)
        x = x + self.mix(y, y, use_causal_mask=True)
        return x + self.down(self.up(self.n2(x)))


class CharLM(keras.Model):
    def __init__(self, vocab=41, width=40, heads=5, depth=3, context=32):
        super().__init__()
        self.tok = layers.Embedding(vocab, width)
        self.pos = layers.Embedding(context, width)
        self.blocks = [Block(width, heads) for _ in range(depth)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.out = layers.Dense(vocab)

    def call(self, x):
        y = self.tok(x) + self.pos(ops.arange(ops.shape(x)[1]))
        for block in self.blocks:
            y = block(y)
        return self.out(self.norm(y))


def load(model, sd, width=40, heads=5):
    size = width // heads
    model.tok.set_weights([sd["net.tok.weight"]])
    model.pos.set_weights([sd["net.pos"]])
    model.norm.set_weights([sd["net.norm.weight"], sd["net.norm.bias"]])
    model.out.set_weights([sd["net.out.weight"].T, sd["net.out.bias"]])
    for i, block in enumerate(model.blocks):
        p = f"net.layers.{i}."
        block.n1.set_weights([sd[p + "n1.weight"], sd[p + "n1.bias"]])
        block.n2.set_weights([sd[p + "n2.weight"], sd[p + "n2.bias"]])
        block.up.set_weights([sd[p + "ff.0.weight"], sd[p + "ff.0.bias"]])
        block.down.set_weights([sd[p + "ff.2.weight"], sd[p + "ff.2.bias"]])
        q, k, v = np.split(sd[p + "mix.attn.weight"], 3, axis=1)
        bq, bk, bv = np.split(sd[p + "mix.attn.bias"], 3)
        new = []
        for w, b in ((q, bq), (k, bk), (v, bv)):
            new += [w.reshape(width, heads, size), b.reshape(heads, size)]
        new += [sd[p + "mix.proj.weight"].reshape(heads, size, width), sd[p + "mix.proj.bias"]]
        block.mix.set_weights(new)
    return model


def build():
    model = CharLM()
    model(np.zeros((1, 4), dtype="int32"))
    return load(model, {k: v.numpy() for k, v in charlm_lightning.build().state_dict().items()})
