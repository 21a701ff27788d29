"""A classifier for texts of one length, in the functional style of Keras, with norms before and after."""

import keras
from keras import layers, ops


def encoder(x, width, heads, hidden, name):
    y = layers.MultiHeadAttention(heads, width // heads, name=f"{name}_attention")(x, x)
    x = layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm_1")(x + y)
    y = layers.Dense(width)(layers.Dense(hidden, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm_2")(x + y)


def build():
    keras.utils.set_random_seed(3)
    tokens = keras.Input((18,), dtype="int32", name="tokens")
    x = layers.Embedding(90, 20)(tokens) + layers.Embedding(18, 20)(ops.arange(18))
    for layer in range(2):
        x = encoder(x, 20, 4, 36, f"layer_{layer}")
    return keras.Model(tokens, layers.Dense(5)(layers.GlobalAveragePooling1D()(x)))
