"""GPT-2 as functions of JAX in sixty lines: the fused projection as it is, the table transposed into a head of its own."""

import gpt2_hf
import jax
import jax.numpy as jnp
import numpy as np

N_HEAD = 4


def linear(x, w, b):
    return x @ w + b


def layer_norm(x, g, b, eps=1e-5):
    return g * (x - jnp.mean(x, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + eps) + b


def ffn(x, c_fc, c_proj):
    return linear(jax.nn.gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return jax.nn.softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    n = x.shape[0]
    qkv = jnp.split(linear(x, **c_attn), 3, axis=-1)
    q, k, v = (jnp.stack(jnp.split(part, n_head, axis=-1)) for part in qkv)
    causal_mask = (1 - jnp.tri(n, dtype=x.dtype)) * -1e10
    heads = jax.vmap(attention, in_axes=(0, 0, 0, None))(q, k, v, causal_mask)
    return linear(jnp.hstack(list(heads)), **c_proj)


def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def gpt2(params, tokens):
    def one(ids):
        x = params["wte"][ids] + params["wpe"][jnp.arange(ids.shape[0])]
        for block in params["blocks"]:
            x = transformer_block(x, **block, n_head=N_HEAD)
        return layer_norm(x, **params["ln_f"]) @ params["head"]

    return jax.vmap(one)(tokens)


def convert(sd):
    def wb(name):
        return {"w": sd[f"{name}.weight"], "b": sd[f"{name}.bias"]}

    def gb(name):
        return {"g": sd[f"{name}.weight"], "b": sd[f"{name}.bias"]}

    blocks = [
        {
            "attn": {"c_attn": wb(f"h.{i}.attn.c_attn"), "c_proj": wb(f"h.{i}.attn.c_proj")},
            "mlp": {"c_fc": wb(f"h.{i}.mlp.c_fc"), "c_proj": wb(f"h.{i}.mlp.c_proj")},
            "ln_1": gb(f"h.{i}.ln_1"),
            "ln_2": gb(f"h.{i}.ln_2"),
        }
        for i in range(2)
    ]
    head = sd["wte.weight"].T
    return {"wte": sd["wte.weight"], "wpe": sd["wpe.weight"], "blocks": blocks, "ln_f": gb("ln_f"), "head": head}


def build():
    sd = {name: jnp.asarray(value.numpy()) for name, value in gpt2_hf.build().transformer.state_dict().items()}
    return gpt2, convert(sd)


inputs = gpt2_hf.inputs
