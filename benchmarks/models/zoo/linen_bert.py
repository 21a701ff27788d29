# A Flax Linen encoder with setup-style modules, dot_product_attention and a classifier on the first token.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Attention(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, x):
        shape = (self.heads, self.width // self.heads)
        q = nn.DenseGeneral(shape, name="query")(x)
        k = nn.DenseGeneral(shape, name="key")(x)
        v = nn.DenseGeneral(shape, name="value")(x)
        y = nn.dot_product_attention(q, k, v)
        return nn.DenseGeneral(self.width, axis=(-2, -1), name="out")(y)


class Layer(nn.Module):
    heads: int
    width: int

    def setup(self):
        self.attention = Attention(self.heads, self.width)
        self.norm_1, self.norm_2 = nn.LayerNorm(epsilon=1e-12), nn.LayerNorm(epsilon=1e-12)
        self.dense_1, self.dense_2 = nn.Dense(3 * self.width), nn.Dense(self.width)

    def __call__(self, x):
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.dense_2(nn.gelu(self.dense_1(x), approximate=False)))


class Bert(nn.Module):
    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(70, 36, name="tokens")(ids)
        x = x + nn.Embed(30, 36, name="positions")(jnp.arange(ids.shape[1])[None])
        x = nn.LayerNorm(epsilon=1e-12, name="embeddings_norm")(x)
        for i in range(3):
            x = Layer(3, 36, name=f"layer_{i}")(x)
        return nn.Dense(4, name="classifier")(nn.tanh(nn.Dense(36, name="pooler")(x[:, 0])))


def build():
    model = Bert()
    return model, model.init(jax.random.PRNGKey(0), jnp.zeros((2, 8), dtype=jnp.int32))
