# Keras as keras_hub writes it: layers with build(), EinsumDense projections, rotary layers, grouped queries.
import keras
from keras import ops


class RotaryEmbedding(keras.layers.Layer):
    def call(self, x):
        d = ops.shape(x)[-1]
        n = ops.shape(x)[1]
        frequencies = 1.0 / (10000.0 ** (ops.arange(0, d, 2, dtype="float32") / d))
        angle = ops.einsum("i,j->ij", ops.arange(n, dtype="float32"), frequencies)
        angle = ops.reshape(ops.concatenate([angle, angle], axis=-1), (1, n, 1, d))
        x1, x2 = ops.split(x, 2, axis=-1)
        return x * ops.cast(ops.cos(angle), x.dtype) + ops.concatenate([-x2, x1], axis=-1) * ops.cast(ops.sin(angle), x.dtype)


class RMSNormalization(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")
        self.built = True

    def call(self, x):
        return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6) * self.scale


class Attention(keras.layers.Layer):
    def __init__(self, heads, groups, **keywords):
        super().__init__(**keywords)
        self.heads, self.groups = heads, groups

    def build(self, shape):
        width = shape[-1]
        d = width // self.heads
        self.query = keras.layers.EinsumDense("bqm,muh->bquh", output_shape=(None, self.heads, d), name="query")
        self.key = keras.layers.EinsumDense("bkm,mvh->bkvh", output_shape=(None, self.groups, d), name="key")
        self.value = keras.layers.EinsumDense("bkm,mvh->bkvh", output_shape=(None, self.groups, d), name="value")
        self.out = keras.layers.EinsumDense("bquh,uhm->bqm", output_shape=(None, width), name="attention_output")
        self.rotary, self.softmax = RotaryEmbedding(), keras.layers.Softmax(dtype="float32")
        for layer in (self.query, self.key, self.value):
            layer.build(shape)
        self.out.build((None, None, self.heads, d))
        self.built = True

    def call(self, x):
        q, k, v = self.rotary(self.query(x)), self.rotary(self.key(x)), self.value(x)
        k, v = (ops.repeat(t, self.heads // self.groups, axis=2) for t in (k, v))
        scores = ops.einsum("bquh,bkuh->buqk", q, k) / ops.sqrt(ops.cast(ops.shape(q)[-1], q.dtype))
        n = ops.shape(x)[1]
        seen = ops.cast(ops.tril(ops.ones((n, n))), "bool")
        scores = self.softmax(scores, mask=ops.broadcast_to(seen, ops.shape(scores)))
        return self.out(ops.einsum("buqk,bkuh->bquh", ops.cast(scores, v.dtype), v))


class DecoderBlock(keras.layers.Layer):
    def __init__(self, heads, groups, hidden, **keywords):
        super().__init__(**keywords)
        self.attention = Attention(heads, groups)
        self.norm_1, self.norm_2 = RMSNormalization(), RMSNormalization()
        self.gate = keras.layers.Dense(hidden, activation="silu", use_bias=False)
        self.up, self.hidden = keras.layers.Dense(hidden, use_bias=False), hidden

    def build(self, shape):
        self.down = keras.layers.Dense(shape[-1], use_bias=False)
        for layer in (self.attention, self.norm_1, self.norm_2, self.gate, self.up):
            layer.build(shape)
        self.down.build((*shape[:-1], self.hidden))
        self.built = True

    def call(self, x):
        x = x + self.attention(self.norm_1(x))
        y = self.norm_2(x)
        return x + self.down(self.gate(y) * self.up(y))


def build():
    keras.utils.set_random_seed(5)
    ids = keras.Input((None,), dtype="int32")
    embedding = keras.layers.ReversibleEmbedding(66, 40, tie_weights=False)
    x = embedding(ids)
    for i in range(3):
        x = DecoderBlock(4, 2, 68, name=f"decoder_{i}")(x)
    x = RMSNormalization(name="final")(x)
    return keras.Model(ids, embedding(x, reverse=True))
