"""Self-attention over a set of conditions, in Flax."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class SelfAttentionBlock(nn.Module):
    heads: int = 4
    dropout: float = 0.1

    @nn.compact
    def __call__(self, z, training=False):
        z_ = nn.MultiHeadAttention(num_heads=self.heads, qkv_features=z.shape[-1])(z)
        z_ = nn.Dropout(self.dropout)(z_, deterministic=not training)
        z = nn.LayerNorm()(z + z_)
        z_ = nn.gelu(nn.Dense(z.shape[-1])(z))
        z_ = nn.Dropout(self.dropout)(z_, deterministic=not training)
        return nn.LayerNorm()(z + z_)


class ConditionEncoder(nn.Module):
    conditions: int = 64
    width: int = 32
    blocks: int = 2

    @nn.compact
    def __call__(self, ids, training=False):
        z = nn.Embed(self.conditions, self.width)(ids)
        for _ in range(self.blocks):
            z = SelfAttentionBlock()(z, training)
        return nn.Dense(16)(z)


def build():
    model = ConditionEncoder()
    return model, model.init(jax.random.PRNGKey(0), jnp.zeros((1, 6), jnp.int32))
