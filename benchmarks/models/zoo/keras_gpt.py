"""A GPT in Keras 3, for any backend, after the example of text generation with a miniature GPT."""

import keras
from keras import layers, ops


def causal_attention_mask(n_dest, n_src):
    """Ones in the lower triangle."""
    i = ops.arange(n_dest)[:, None]
    j = ops.arange(n_src)
    return ops.expand_dims(i >= j - n_src + n_dest, 0)


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.att = layers.MultiHeadAttention(num_heads, embed_dim // num_heads)
        self.ffn1 = layers.Dense(ff_dim, activation="gelu")
        self.ffn2 = layers.Dense(embed_dim)
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs):
        seq_len = ops.shape(inputs)[1]
        causal_mask = causal_attention_mask(seq_len, seq_len)
        attention_output = self.att(inputs, inputs, attention_mask=causal_mask)
        attention_output = self.dropout1(attention_output)
        out1 = self.layernorm1(inputs + attention_output)
        ffn_output = self.ffn2(self.ffn1(out1))
        ffn_output = self.dropout2(ffn_output)
        return self.layernorm2(out1 + ffn_output)


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = self.pos_emb(ops.arange(0, maxlen, 1))
        return self.token_emb(x) + positions


def build():
    keras.utils.set_random_seed(14)
    inputs = layers.Input(shape=(None,), dtype="int32")
    x = TokenAndPositionEmbedding(15, 64, 30, name="embedding")(inputs)
    for i in range(3):
        x = TransformerBlock(30, 3, 52, name=f"block_{i}")(x)
    outputs = layers.Dense(64, name="logits")(x)
    return keras.Model(inputs=inputs, outputs=outputs)
