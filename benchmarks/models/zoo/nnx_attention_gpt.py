"""A GPT in Flax NNX with its MultiHeadAttention."""

import jax.numpy as jnp
from flax import nnx


class TransformerBlock(nnx.Module):
    def __init__(self, embed_dim: int, num_heads: int, ff_dim: int, *, rngs: nnx.Rngs, rate: float = 0.1):
        self.mha = nnx.MultiHeadAttention(num_heads=num_heads, in_features=embed_dim, decode=False, rngs=rngs)
        self.dropout1 = nnx.Dropout(rate, rngs=rngs)
        self.layer_norm1 = nnx.LayerNorm(num_features=embed_dim, epsilon=1e-6, rngs=rngs)
        self.linear1 = nnx.Linear(embed_dim, ff_dim, rngs=rngs)
        self.linear2 = nnx.Linear(ff_dim, embed_dim, rngs=rngs)
        self.dropout2 = nnx.Dropout(rate, rngs=rngs)
        self.layer_norm2 = nnx.LayerNorm(num_features=embed_dim, epsilon=1e-6, rngs=rngs)

    def __call__(self, inputs):
        _, seq_len, _ = inputs.shape
        mask = jnp.tril(jnp.ones((seq_len, seq_len)))
        attention_output = self.dropout1(self.mha(inputs, mask=mask))
        out1 = self.layer_norm1(inputs + attention_output)
        ffn_output = self.linear2(nnx.relu(self.linear1(out1)))
        return self.layer_norm2(out1 + self.dropout2(ffn_output))


class TokenAndPositionEmbedding(nnx.Module):
    def __init__(self, maxlen: int, vocab_size: int, embed_dim: int, *, rngs: nnx.Rngs):
        self.token_emb = nnx.Embed(num_embeddings=vocab_size, features=embed_dim, rngs=rngs)
        self.pos_emb = nnx.Embed(num_embeddings=maxlen, features=embed_dim, rngs=rngs)

    def __call__(self, x):
        positions = jnp.arange(0, x.shape[1])[None, :]
        return self.token_emb(x) + self.pos_emb(positions)


class MiniGPT(nnx.Module):
    def __init__(self, maxlen, vocab_size, embed_dim, num_heads, feed_forward_dim, num_blocks, *, rngs: nnx.Rngs):
        self.embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim, rngs=rngs)
        self.transformer_blocks = nnx.List(
            [TransformerBlock(embed_dim, num_heads, feed_forward_dim, rngs=rngs) for _ in range(num_blocks)]
        )
        self.output_layer = nnx.Linear(embed_dim, vocab_size, use_bias=False, rngs=rngs)

    def __call__(self, inputs):
        x = self.embedding_layer(inputs)
        for block in self.transformer_blocks:
            x = block(x)
        return self.output_layer(x)


def build():
    return MiniGPT(17, 82, 36, 3, 64, 3, rngs=nnx.Rngs(1))
