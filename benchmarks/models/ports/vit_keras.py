"""The Vision Transformer in Keras: MultiHeadAttention with three-dimensional kernels, images with channels first."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
import vit_hf
from keras import layers, ops


class Patches(layers.Layer):
    """Cut an image into patches, each of them row by row, the channels outermost."""

    def __init__(self, patch, **options):
        super().__init__(**options)
        self.patch = patch

    def call(self, images):
        batch, channels, height, width = images.shape
        p = self.patch
        cut = ops.reshape(images, (-1, channels, height // p, p, width // p, p))
        return ops.reshape(ops.transpose(cut, (0, 2, 4, 1, 3, 5)), (-1, height * width // p**2, channels * p * p))


class ClassToken(layers.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), name="token")

    def call(self, x):
        return ops.concatenate([ops.repeat(self.token, ops.shape(x)[0], axis=0), x], axis=1)


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(1, shape[1], shape[2]), name="table")

    def call(self, x):
        return x + self.table


def make(width=32, heads=4, hidden=52, depth=2, labels=11):
    images = keras.Input((3, 16, 16))
    x = layers.Dense(width, name="patch_projection")(Patches(4, name="patches")(images))
    x = Positions(name="positions")(ClassToken(name="class_token")(x))
    for i in range(depth):
        y = layers.LayerNormalization(epsilon=1e-12, name=f"block{i}_norm1")(x)
        x = x + layers.MultiHeadAttention(heads, width // heads, name=f"block{i}_attention")(y, y)
        y = layers.LayerNormalization(epsilon=1e-12, name=f"block{i}_norm2")(x)
        y = layers.Dense(
            hidden, activation=lambda t: keras.activations.gelu(t, approximate=False), name=f"block{i}_up"
        )(y)
        x = x + layers.Dense(width, name=f"block{i}_down")(y)
    x = layers.LayerNormalization(epsilon=1e-12, name="norm")(x)
    return keras.Model(images, layers.Dense(labels, name="head")(x[:, 0]))


def attention_weights(state, at, heads=4):
    weights = []
    for name in ("q_proj", "k_proj", "v_proj"):
        kernel, bias = state[f"{at}.{name}.weight"], state[f"{at}.{name}.bias"]
        weights += [kernel.T.reshape(kernel.shape[1], heads, -1), bias.reshape(heads, -1)]
    out = state[f"{at}.o_proj.weight"].T
    return [*weights, out.reshape(heads, -1, out.shape[1]), state[f"{at}.o_proj.bias"]]


def convert(model, state):
    def dense(name, old):
        model.get_layer(name).set_weights([state[f"{old}.weight"].T, state[f"{old}.bias"]])

    def norm(name, old):
        model.get_layer(name).set_weights([state[f"{old}.weight"], state[f"{old}.bias"]])

    patch = state["vit.embeddings.patch_embeddings.projection.weight"]
    bias = state["vit.embeddings.patch_embeddings.projection.bias"]
    model.get_layer("patch_projection").set_weights([patch.reshape(patch.shape[0], -1).T, bias])
    model.get_layer("class_token").set_weights([state["vit.embeddings.cls_token"]])
    model.get_layer("positions").set_weights([state["vit.embeddings.position_embeddings"]])
    for i in range(2):
        old = f"vit.layers.{i}"
        norm(f"block{i}_norm1", f"{old}.layernorm_before")
        model.get_layer(f"block{i}_attention").set_weights(attention_weights(state, f"{old}.attention"))
        norm(f"block{i}_norm2", f"{old}.layernorm_after")
        dense(f"block{i}_up", f"{old}.mlp.fc1")
        dense(f"block{i}_down", f"{old}.mlp.fc2")
    norm("norm", "vit.layernorm")
    dense("head", "classifier")
    return model


def build():
    state = {name: np.asarray(value) for name, value in vit_hf.build().state_dict().items()}
    return convert(make(), state)


inputs = vit_hf.inputs
