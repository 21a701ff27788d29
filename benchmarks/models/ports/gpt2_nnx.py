"""GPT-2 in Flax NNX: split projections, the tied table through attend()."""

import gpt2_hf
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


class Attention(nnx.Module):
    def __init__(self, width, heads, rngs):
        self.heads = heads
        self.query = nnx.Linear(width, width, rngs=rngs)
        self.key = nnx.Linear(width, width, rngs=rngs)
        self.value = nnx.Linear(width, width, rngs=rngs)
        self.out = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        b, t, c = x.shape
        q = self.query(x).reshape(b, t, self.heads, -1)
        k = self.key(x).reshape(b, t, self.heads, -1)
        v = self.value(x).reshape(b, t, self.heads, -1)
        logits = jnp.einsum("bqhd,bkhd->bhqk", q / jnp.sqrt(q.shape[-1]).astype(x.dtype), k)
        mask = jnp.tril(jnp.ones((t, t), dtype=bool))
        weights = nnx.softmax(jnp.where(mask, logits, jnp.finfo(logits.dtype).min), axis=-1)
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, c))


class Block(nnx.Module):
    def __init__(self, width, heads, rngs):
        self.ln_1 = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)
        self.attn = Attention(width, heads, rngs)
        self.ln_2 = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)
        self.fc = nnx.Linear(width, 4 * width, rngs=rngs)
        self.proj = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(nnx.gelu(self.fc(self.ln_2(x)), approximate=True))


class GPT2(nnx.Module):
    def __init__(self, config, rngs):
        self.wte = nnx.Embed(config.vocab_size, config.n_embd, rngs=rngs)
        self.wpe = nnx.Embed(config.n_positions, config.n_embd, rngs=rngs)
        self.blocks = nnx.List([Block(config.n_embd, config.n_head, rngs) for _ in range(config.n_layer)])
        self.ln_f = nnx.LayerNorm(config.n_embd, epsilon=1e-5, rngs=rngs)

    def __call__(self, tokens):
        x = self.wte(tokens) + self.wpe(jnp.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.wte.attend(self.ln_f(x))


def load_linear(layer, kernel, bias):
    layer.kernel[...] = jnp.asarray(kernel)
    layer.bias[...] = jnp.asarray(bias)


def load_norm(layer, state, name):
    layer.scale[...] = jnp.asarray(state[f"{name}.weight"])
    layer.bias[...] = jnp.asarray(state[f"{name}.bias"])


def convert(model, state):
    """Copy the weights of Hugging Face's GPT-2, whose Conv1D kernels are (in, out) like those of Flax."""
    model.wte.embedding[...] = jnp.asarray(state["wte.weight"])
    model.wpe.embedding[...] = jnp.asarray(state["wpe.weight"])
    for i, block in enumerate(model.blocks):
        kernels = np.split(state[f"h.{i}.attn.c_attn.weight"], 3, axis=1)
        biases = np.split(state[f"h.{i}.attn.c_attn.bias"], 3)
        layers = (block.attn.query, block.attn.key, block.attn.value)
        for layer, kernel, bias in zip(layers, kernels, biases, strict=True):
            load_linear(layer, kernel, bias)
        load_linear(block.attn.out, state[f"h.{i}.attn.c_proj.weight"], state[f"h.{i}.attn.c_proj.bias"])
        load_linear(block.fc, state[f"h.{i}.mlp.c_fc.weight"], state[f"h.{i}.mlp.c_fc.bias"])
        load_linear(block.proj, state[f"h.{i}.mlp.c_proj.weight"], state[f"h.{i}.mlp.c_proj.bias"])
        load_norm(block.ln_1, state, f"h.{i}.ln_1")
        load_norm(block.ln_2, state, f"h.{i}.ln_2")
    load_norm(model.ln_f, state, "ln_f")
    return model


def build():
    source = gpt2_hf.build()
    state = {name: value.numpy() for name, value in source.transformer.state_dict().items()}
    return convert(GPT2(gpt2_hf.CONFIG, nnx.Rngs(jax.random.key(1))), state)


inputs = gpt2_hf.inputs
