"""minGPT in Keras, functional: dense layers and a layer for the attention alone, weights by the layers' names."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import mingpt
from keras import layers, ops

VOCAB, WIDTH, HEADS, DEPTH, LENGTH = 57, 36, 3, 2, 32


def gelu_new(x):
    return 0.5 * x * (1 + ops.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


class Mix(layers.Layer):
    def call(self, q, k, v):
        def heads(x):
            return ops.transpose(ops.reshape(x, (-1, ops.shape(x)[1], HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

        q, k, v = heads(q), heads(k), heads(v)
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / (WIDTH // HEADS) ** 0.5
        t = ops.shape(scores)[-1]
        visible = ops.arange(t)[:, None] >= ops.arange(t)[None, :]
        weights = ops.softmax(ops.where(visible, scores, -1e10), axis=-1)
        return ops.reshape(ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3)), (-1, t, WIDTH))

    def compute_output_shape(self, shape, *_):
        return shape


class Places(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(LENGTH, WIDTH))

    def call(self, x):
        return x + ops.take(self.table, ops.arange(ops.shape(x)[1]), axis=0)

    def compute_output_shape(self, shape):
        return shape


def block(x, i):
    y = layers.LayerNormalization(epsilon=1e-5, name=f"ln1_{i}")(x)
    q, k, v = (layers.Dense(WIDTH, name=f"{name}_{i}")(y) for name in ("query", "key", "value"))
    x = x + layers.Dense(WIDTH, name=f"proj_{i}")(Mix(name=f"mix_{i}")(q, k, v))
    y = layers.LayerNormalization(epsilon=1e-5, name=f"ln2_{i}")(x)
    y = layers.Dense(2 * WIDTH, activation=gelu_new, name=f"up_{i}")(y)
    return x + layers.Dense(WIDTH, name=f"down_{i}")(y)


def gpt():
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(VOCAB, WIDTH, name="tok_emb")(tokens)
    x = Places(name="pos_emb")(x)
    for i in range(DEPTH):
        x = block(x, i)
    x = layers.LayerNormalization(epsilon=1e-5, name="ln_f")(x)
    return keras.Model(tokens, layers.Dense(VOCAB, use_bias=False, name="head")(x))


def load(model, state):
    def dense(name, old):
        model.get_layer(name).set_weights([state[f"{old}.weight"].T, state[f"{old}.bias"]])

    def norm(name, old):
        model.get_layer(name).set_weights([state[f"{old}.weight"], state[f"{old}.bias"]])

    model.get_layer("tok_emb").set_weights([state["tok_emb.weight"]])
    model.get_layer("pos_emb").set_weights([state["pos_emb"][0]])
    for i in range(DEPTH):
        for name in ("query", "key", "value", "proj"):
            dense(f"{name}_{i}", f"blocks.{i}.attn.{name}")
        dense(f"up_{i}", f"blocks.{i}.mlp.0")
        dense(f"down_{i}", f"blocks.{i}.mlp.2")
        norm(f"ln1_{i}", f"blocks.{i}.ln1")
        norm(f"ln2_{i}", f"blocks.{i}.ln2")
    norm("ln_f", "ln_f")
    model.get_layer("head").set_weights([state["head.weight"].T])
    return model


def build():
    return load(gpt(), {name: value.numpy() for name, value in mingpt.build().state_dict().items()})
