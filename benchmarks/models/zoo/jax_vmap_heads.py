# A plain JAX decoder: dictionaries of parameters, one head at a time under vmap, one sequence at a time under vmap.
import jax
import jax.numpy as jnp


def init(key, shape):
    return jax.random.normal(key, shape) / jnp.sqrt(shape[0])


def layer_norm(p, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return p["g"] * (x - mean) * jax.lax.rsqrt(variance + 1e-5) + p["b"]


def head(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / jnp.sqrt(wq.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones_like(scores)) > 0, scores, -jnp.inf)
    return jax.nn.softmax(scores) @ v


def attention(p, x):
    heads = jax.vmap(head, in_axes=(None, 0, 0, 0))(x, p["wq"], p["wk"], p["wv"])
    return jnp.einsum("hnd,hde->ne", heads, p["wo"])


def forward_one(params, ids):
    x = params["wte"][ids] + params["wpe"][: ids.shape[0]]
    for p in params["blocks"]:
        x = x + attention(p["attn"], layer_norm(p["ln1"], x))
        h = layer_norm(p["ln2"], x)
        x = x + jax.nn.gelu(h @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    return layer_norm(params["ln"], x) @ params["wte"].T


def forward(params, ids):
    return jax.vmap(forward_one, in_axes=(None, 0))(params, ids)


def build():
    width, heads, vocab = 32, 4, 60
    keys = iter(jax.random.split(jax.random.PRNGKey(2), 64))

    def norm():
        return {"g": jnp.ones(width), "b": jnp.zeros(width)}

    def block():
        small = (heads, width, width // heads)
        attn = {n: init(next(keys), small) for n in ("wq", "wk", "wv")}
        attn["wo"] = init(next(keys), (heads, width // heads, width))
        return {
            "attn": attn, "ln1": norm(), "ln2": norm(),
            "w1": init(next(keys), (width, 4 * width)), "b1": jnp.zeros(4 * width),
            "w2": init(next(keys), (4 * width, width)), "b2": jnp.zeros(width),
        }

    params = {
        "wte": init(next(keys), (vocab, width)),
        "wpe": init(next(keys), (24, width)),
        "blocks": [block() for _ in range(3)],
        "ln": norm(),
    }
    return forward, params
