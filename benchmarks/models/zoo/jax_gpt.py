"""GPT in plain JAX: nested dictionaries of arrays, and functions."""

import jax
import jax.numpy as jnp
import numpy as np

VOCAB, CONTEXT, WIDTH, HEADS, HIDDEN, LAYERS = 68, 21, 32, 2, 78, 3


def layer_norm(params, x, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return params["scale"] * (x - mean) * jax.lax.rsqrt(variance + eps) + params["bias"]


def attention(params, x, layer):
    q = jnp.einsum("btd,dhk->bthk", x, params["q"]["w"]) + params["q"]["b"]
    k = jnp.einsum("btd,dhk->bthk", x, params["k"]["w"]) + params["k"]["b"]
    v = jnp.einsum("btd,dhk->bthk", x, params["v"]["w"]) + params["v"]["b"]
    logits = jnp.einsum("bthk,bshk->bhts", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    t = x.shape[1]
    causal = jnp.arange(t)[:, None] >= jnp.arange(t)[None, :]
    logits = jnp.where(causal, logits, -1e30)
    weights = jax.nn.softmax(logits, axis=-1)
    out = jnp.einsum("bhts,bshk->bthk", weights, v)
    return jnp.einsum("bthk,hkd->btd", out, params["o"]["w"]) + params["o"]["b"]


def mlp(params, x, layer):
    x = jax.nn.gelu(x @ params["up"]["w"] + params["up"]["b"])
    return x @ params["down"]["w"] + params["down"]["b"]


def block(params, x, layer):
    x = x + attention(params["attn"], layer_norm(params["ln_1"], x), layer)
    x = x + mlp(params["mlp"], layer_norm(params["ln_2"], x), layer)
    return x


def forward(params, tokens):
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[1]]
    for layer, layer_params in enumerate(params["blocks"]):
        x = block(layer_params, x, layer)
    x = layer_norm(params["ln_f"], x)
    return x @ params["wte"].T


def init(seed):
    rng = np.random.default_rng(seed)

    def weight(*shape):
        return jnp.asarray(rng.normal(size=shape) * 0.02, dtype=jnp.float32)

    def norm():
        return {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}

    head = WIDTH // HEADS

    def projection():
        return {"w": weight(WIDTH, HEADS, head), "b": jnp.zeros((HEADS, head))}

    def layer():
        return {
            "ln_1": norm(),
            "attn": {
                "q": projection(),
                "k": projection(),
                "v": projection(),
                "o": {"w": weight(HEADS, head, WIDTH), "b": jnp.zeros(WIDTH)},
            },
            "ln_2": norm(),
            "mlp": {
                "up": {"w": weight(WIDTH, HIDDEN), "b": jnp.zeros(HIDDEN)},
                "down": {"w": weight(HIDDEN, WIDTH), "b": jnp.zeros(WIDTH)},
            },
        }

    return {
        "wte": weight(VOCAB, WIDTH),
        "wpe": weight(CONTEXT, WIDTH),
        "blocks": [layer() for _ in range(LAYERS)],
        "ln_f": norm(),
    }


def build():
    return forward, init(0)
