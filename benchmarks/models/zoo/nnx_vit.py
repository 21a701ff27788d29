# A Flax NNX vision model: patches by convolution, a class token, nnx.MultiHeadAttention, pre-norm.
import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, width, heads, rngs):
        self.ln1, self.ln2 = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.fc1, self.fc2 = nnx.Linear(width, 2 * width, rngs=rngs), nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.fc2(nnx.gelu(self.fc1(self.ln2(x))))


class ViT(nnx.Module):
    def __init__(self, rngs, width=36, patch=4, side=12):
        self.patches = nnx.Conv(3, width, (patch, patch), strides=(patch, patch), padding="VALID", rngs=rngs)
        self.cls = nnx.Param(0.1 * jax.random.normal(rngs.params(), (1, 1, width)))
        self.positions = nnx.Param(0.1 * jax.random.normal(rngs.params(), (1, (side // patch) ** 2 + 1, width)))
        self.blocks = nnx.List([Block(width, 3, rngs) for _ in range(3)])
        self.norm, self.head = nnx.LayerNorm(width, rngs=rngs), nnx.Linear(width, 7, rngs=rngs)

    def __call__(self, image):
        x = self.patches(image)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        x = jnp.concatenate([jnp.tile(self.cls[...], (x.shape[0], 1, 1)), x], axis=1) + self.positions[...]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def build():
    return ViT(nnx.Rngs(4))


def inputs():
    import numpy as np

    return np.random.default_rng(8).normal(size=(2, 12, 12, 3)).astype("float32")
