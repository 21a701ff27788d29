"""nanoGPT in Equinox: one sequence, vmapped over the batch; MultiheadAttention of the library."""

import equinox as eqx
import jax
import jax.numpy as jnp
import nanogpt

WIDTH, HEADS, LAYERS, VOCAB, BLOCK = 128, 2, 2, 97, 48


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    attn: eqx.nn.MultiheadAttention
    norm2: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP

    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.norm1 = eqx.nn.LayerNorm(WIDTH, eps=1e-5)
        self.attn = eqx.nn.MultiheadAttention(
            HEADS,
            WIDTH,
            use_query_bias=True,
            use_key_bias=True,
            use_value_bias=True,
            use_output_bias=True,
            dropout_p=0.1,
            key=k1,
        )
        self.norm2 = eqx.nn.LayerNorm(WIDTH, eps=1e-5)
        self.mlp = eqx.nn.MLP(
            WIDTH, WIDTH, 4 * WIDTH, 1, activation=lambda x: jax.nn.gelu(x, approximate=False), key=k2
        )

    def __call__(self, x):
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), dtype=bool))
        y = jax.vmap(self.norm1)(x)
        x = x + self.attn(y, y, y, mask=mask, inference=True)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))


class GPT(eqx.Module):
    wte: jax.Array
    wpe: jax.Array
    blocks: list
    ln_f: eqx.nn.LayerNorm

    def __init__(self, key):
        keys = jax.random.split(key, LAYERS + 2)
        self.wte = jax.random.normal(keys[0], (VOCAB, WIDTH))
        self.wpe = jax.random.normal(keys[1], (BLOCK, WIDTH))
        self.blocks = [Block(k) for k in keys[2:]]
        self.ln_f = eqx.nn.LayerNorm(WIDTH, eps=1e-5)

    def single(self, tokens):
        x = self.wte[tokens] + self.wpe[: tokens.shape[0]]
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.ln_f)(x) @ self.wte.T

    def __call__(self, tokens):
        return jax.vmap(self.single)(tokens)


def load(model, sd):
    sd = {k: jnp.asarray(v.numpy()) for k, v in sd.items()}
    where, what = [], []

    def put(get, value):
        where.append(get)
        what.append(value)

    put(lambda m: m.wte, sd["transformer.wte.weight"])
    put(lambda m: m.wpe, sd["transformer.wpe.weight"])
    put(lambda m: m.ln_f.weight, sd["transformer.ln_f.weight"])
    put(lambda m: m.ln_f.bias, sd["transformer.ln_f.bias"])
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        qw, kw, vw = jnp.split(sd[p + "attn.c_attn.weight"], 3, axis=0)
        qb, kb, vb = jnp.split(sd[p + "attn.c_attn.bias"], 3)
        put(lambda m, i=i: m.blocks[i].norm1.weight, sd[p + "ln_1.weight"])
        put(lambda m, i=i: m.blocks[i].norm1.bias, sd[p + "ln_1.bias"])
        put(lambda m, i=i: m.blocks[i].norm2.weight, sd[p + "ln_2.weight"])
        put(lambda m, i=i: m.blocks[i].norm2.bias, sd[p + "ln_2.bias"])
        put(lambda m, i=i: m.blocks[i].attn.query_proj.weight, qw)
        put(lambda m, i=i: m.blocks[i].attn.query_proj.bias, qb)
        put(lambda m, i=i: m.blocks[i].attn.key_proj.weight, kw)
        put(lambda m, i=i: m.blocks[i].attn.key_proj.bias, kb)
        put(lambda m, i=i: m.blocks[i].attn.value_proj.weight, vw)
        put(lambda m, i=i: m.blocks[i].attn.value_proj.bias, vb)
        put(lambda m, i=i: m.blocks[i].attn.output_proj.weight, sd[p + "attn.c_proj.weight"])
        put(lambda m, i=i: m.blocks[i].attn.output_proj.bias, sd[p + "attn.c_proj.bias"])
        put(lambda m, i=i: m.blocks[i].mlp.layers[0].weight, sd[p + "mlp.c_fc.weight"])
        put(lambda m, i=i: m.blocks[i].mlp.layers[0].bias, sd[p + "mlp.c_fc.bias"])
        put(lambda m, i=i: m.blocks[i].mlp.layers[1].weight, sd[p + "mlp.c_proj.weight"])
        put(lambda m, i=i: m.blocks[i].mlp.layers[1].bias, sd[p + "mlp.c_proj.bias"])
    return eqx.tree_at(lambda m: [get(m) for get in where], model, what)


def build():
    return load(GPT(jax.random.key(0)), nanogpt.build().state_dict())
