# A Flax Linen decoder whose layers are one module under nn.scan: RMSNorm with 1 + gain, GeGLU, rotary halves, one key/value head.
import flax.linen as nn
import jax
import jax.numpy as jnp


class RMSNorm(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.zeros, (x.shape[-1],))
        return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * (1 + scale)


def rope(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000.0 ** (jnp.arange(half) / half)
    sin, cos = jnp.sin(angle)[None, :, None], jnp.cos(angle)[None, :, None]
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Block(nn.Module):
    heads: int = 4
    head_dim: int = 10

    @nn.compact
    def __call__(self, x, _):
        width, n = x.shape[-1], x.shape[1]
        init = nn.initializers.normal(0.1)
        y = RMSNorm(name="pre_attention_norm")(x)
        q = jnp.einsum("BTD,NDH->BTNH", y, self.param("q", init, (self.heads, width, self.head_dim)))
        k, v = jnp.einsum("BSD,CKDH->CBSKH", y, self.param("kv", init, (2, 1, width, self.head_dim)))
        q = rope(q) * self.head_dim**-0.5
        k = rope(k)
        logits = jnp.einsum("BTNH,BSH->BTNS", q, k[:, :, 0])
        seen = jnp.tril(jnp.ones((n, n), dtype=bool))
        probs = jax.nn.softmax(jnp.where(seen[None, :, None], logits, -2.3819763e38), axis=-1)
        encoded = jnp.einsum("BTNS,BSH->BTNH", probs, v[:, :, 0])
        x = x + jnp.einsum("BTNH,NHD->BTD", encoded, self.param("o", init, (self.heads, self.head_dim, width)))
        y = RMSNorm(name="pre_ffw_norm")(x)
        gate, up = jnp.einsum("BTD,CDF->CBTF", y, self.param("gating", init, (2, width, 3 * width)))
        x = x + jnp.dot(nn.gelu(gate) * up, self.param("linear", init, (3 * width, width)))
        return x, None


class Gemma(nn.Module):
    @nn.compact
    def __call__(self, ids):
        table = self.param("input_embedding", nn.initializers.normal(1.0), (62, 32))
        x = table[ids] * jnp.sqrt(32.0)
        stack = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        x, _ = stack(name="layers")(x, None)
        return jnp.dot(RMSNorm(name="final_norm")(x), table.T)


def build():
    model = Gemma()
    return model, model.init(jax.random.PRNGKey(1), jnp.zeros((2, 8), dtype=jnp.int32))
