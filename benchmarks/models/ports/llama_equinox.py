# Llama in Equinox, one sequence at a time; keys and values are one projection, gate and up another.
import equinox as eqx
import jax
import jax.numpy as jnp
import llama_hf

WIDTH, HEADS, GROUPS, SIZE = 48, 4, 2, 12


def rotate(x):
    n = x.shape[0]
    inverse = 10000.0 ** (-jnp.arange(0, SIZE, 2) / SIZE)
    angle = jnp.tile(jnp.outer(jnp.arange(n), inverse), 2)[:, None].astype(x.dtype)
    turned = jnp.concatenate([-x[..., SIZE // 2 :], x[..., : SIZE // 2]], axis=-1)
    return x * jnp.cos(angle) + turned * jnp.sin(angle)


class Attention(eqx.Module):
    query: eqx.nn.Linear
    key_value: eqx.nn.Linear
    output: eqx.nn.Linear

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.query = eqx.nn.Linear(WIDTH, WIDTH, use_bias=False, key=a)
        self.key_value = eqx.nn.Linear(WIDTH, 2 * GROUPS * SIZE, use_bias=False, key=b)
        self.output = eqx.nn.Linear(WIDTH, WIDTH, use_bias=False, key=c)

    def __call__(self, x):
        n = x.shape[0]
        q = rotate(jax.vmap(self.query)(x).reshape(n, HEADS, SIZE))
        k, v = jnp.split(jax.vmap(self.key_value)(x).reshape(n, 2 * GROUPS, SIZE), 2, axis=1)
        k, v = (jnp.repeat(t, HEADS // GROUPS, axis=1) for t in (rotate(k), v))
        logits = jnp.einsum("shd,Shd->hsS", q, k) / jnp.sqrt(SIZE)
        logits = jnp.where(jnp.tril(jnp.ones((n, n), bool)), logits, -jnp.inf)
        mixed = jnp.einsum("hsS,Shd->shd", jax.nn.softmax(logits, axis=-1), v)
        return jax.vmap(self.output)(mixed.reshape(n, WIDTH))


class Layer(eqx.Module):
    attention: Attention
    gate_up: eqx.nn.Linear
    down: eqx.nn.Linear
    norm1: eqx.nn.RMSNorm
    norm2: eqx.nn.RMSNorm

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.attention = Attention(a)
        self.gate_up = eqx.nn.Linear(WIDTH, 2 * WIDTH, use_bias=False, key=b)
        self.down = eqx.nn.Linear(WIDTH, WIDTH, use_bias=False, key=c)
        self.norm1 = eqx.nn.RMSNorm(WIDTH, eps=1e-6, use_bias=False)
        self.norm2 = eqx.nn.RMSNorm(WIDTH, eps=1e-6, use_bias=False)

    def __call__(self, x):
        x = x + self.attention(jax.vmap(self.norm1)(x))
        gate, up = jnp.split(jax.vmap(self.gate_up)(jax.vmap(self.norm2)(x)), 2, axis=-1)
        return x + jax.vmap(self.down)(jax.nn.silu(gate) * up)


class Llama(eqx.Module):
    table: eqx.nn.Embedding
    layers: list[Layer]
    norm: eqx.nn.RMSNorm
    head: eqx.nn.Linear

    def __init__(self, key):
        a, b, c, d = jax.random.split(key, 4)
        self.table = eqx.nn.Embedding(89, WIDTH, key=a)
        self.layers = [Layer(b), Layer(c)]
        self.norm = eqx.nn.RMSNorm(WIDTH, eps=1e-6, use_bias=False)
        self.head = eqx.nn.Linear(WIDTH, 89, use_bias=False, key=d)

    def one(self, tokens):
        x = jax.vmap(self.table)(tokens)
        for layer in self.layers:
            x = layer(x)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))

    def __call__(self, tokens):
        return jax.vmap(self.one)(tokens)


def put(module, weight):
    return eqx.tree_at(lambda m: m.weight, module, weight)


def convert_layer(layer, w):
    """Torch and Equinox both have kernels (out, in)."""
    fused = jnp.concatenate([w["self_attn.k_proj"], w["self_attn.v_proj"]])
    attention = Attention.__new__(Attention)
    parts = {
        "query": put(layer.attention.query, w["self_attn.q_proj"]),
        "key_value": put(layer.attention.key_value, fused),
        "output": put(layer.attention.output, w["self_attn.o_proj"]),
    }
    for name, part in parts.items():
        object.__setattr__(attention, name, part)
    new = (
        attention,
        put(layer.gate_up, jnp.concatenate([w["mlp.gate_proj"], w["mlp.up_proj"]])),
        put(layer.down, w["mlp.down_proj"]),
        put(layer.norm1, w["input_layernorm"]),
        put(layer.norm2, w["post_attention_layernorm"]),
    )
    return eqx.tree_at(lambda m: (m.attention, m.gate_up, m.down, m.norm1, m.norm2), layer, new)


def build():
    state = {n.removesuffix(".weight"): jnp.asarray(p.numpy()) for n, p in llama_hf.build().state_dict().items()}
    model = Llama(jax.random.key(2))
    layers = []
    for i, layer in enumerate(model.layers):
        prefix = f"model.layers.{i}."
        own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        layers.append(convert_layer(layer, own))
    new = (
        put(model.table, state["model.embed_tokens"]),
        layers,
        put(model.norm, state["model.norm"]),
        put(model.head, state["lm_head"]),
    )
    return eqx.tree_at(lambda m: (m.table, m.layers, m.norm, m.head), model, new)


inputs = llama_hf.inputs
