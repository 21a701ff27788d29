"""T5 in JAX: nested dictionaries, kernels by head, one function for each layer."""

import jax
import jax.numpy as jnp
import numpy as np
import t5_hf

EPS = 1e-6


def rms(scale, x):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + EPS) * scale


def buckets(queries, keys, both_ways, count=12, furthest=24):
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    start = np.zeros_like(distance)
    if both_ways:
        count //= 2
        start = np.where(distance > 0, count, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = count // 2
    large = exact + (
        np.log(np.maximum(distance, 1).astype(np.float32) / exact) / np.log(furthest / exact) * (count - exact)
    ).astype(np.int64)
    return start + np.where(distance < exact, distance, np.minimum(large, count - 1))


def attention(p, x, memory, bias):
    q = jnp.einsum("btd,dhk->bhtk", x, p["q"])
    k = jnp.einsum("bsd,dhk->bhsk", memory, p["k"])
    v = jnp.einsum("bsd,dhk->bhsk", memory, p["v"])
    weights = jax.nn.softmax(jnp.einsum("bhtk,bhsk->bhts", q, k) + bias, axis=-1)
    return jnp.einsum("bhts,bhsk,hkd->btd", weights, v, p["o"])


def network(p, x):
    return (jax.nn.gelu(x @ p["wi_0"], approximate=True) * (x @ p["wi_1"])) @ p["wo"]


def encode(p, tokens):
    x = p["shared"][tokens]
    t = tokens.shape[1]
    bias = p["encoder"]["table"][buckets(t, t, True)].transpose(2, 0, 1)
    for layer in p["encoder"]["layers"]:
        y = rms(layer["norm_self"], x)
        x = x + attention(layer["self"], y, y, bias)
        x = x + network(layer["mlp"], rms(layer["norm_mlp"], x))
    return rms(p["encoder"]["norm"], x)


def decode(p, tokens, memory):
    x = p["shared"][tokens]
    t = tokens.shape[1]
    bias = p["decoder"]["table"][buckets(t, t, False)].transpose(2, 0, 1)
    bias = bias + jnp.where(jnp.tri(t, dtype=bool), 0.0, -jnp.inf)
    for layer in p["decoder"]["layers"]:
        y = rms(layer["norm_self"], x)
        x = x + attention(layer["self"], y, y, bias)
        x = x + attention(layer["cross"], rms(layer["norm_cross"], x), memory, 0.0)
        x = x + network(layer["mlp"], rms(layer["norm_mlp"], x))
    return rms(p["decoder"]["norm"], x)


def t5(p, source, target):
    memory = encode(p, source)
    return decode(p, target, memory) @ p["lm_head"]


def attention_weights(state, at):
    def by_head(name):
        return state[f"{at}.{name}.weight"].T.reshape(32, 3, 10)

    output = state[f"{at}.o.weight"].T.reshape(3, 10, 32)
    return {"q": by_head("q"), "k": by_head("k"), "v": by_head("v"), "o": output}


def side(state, name, cross):
    layers = []
    for i in range(2):
        at = f"{name}.block.{i}.layer"
        last = 2 if cross else 1
        layer = {
            "self": attention_weights(state, f"{at}.0.SelfAttention"),
            "norm_self": state[f"{at}.0.layer_norm.weight"],
            "norm_mlp": state[f"{at}.{last}.layer_norm.weight"],
            "mlp": {w: state[f"{at}.{last}.DenseReluDense.{w}.weight"].T for w in ("wi_0", "wi_1", "wo")},
        }
        if cross:
            layer["cross"] = attention_weights(state, f"{at}.1.EncDecAttention")
            layer["norm_cross"] = state[f"{at}.1.layer_norm.weight"]
        layers.append(layer)
    table = state[f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    return {"layers": layers, "table": table, "norm": state[f"{name}.final_layer_norm.weight"]}


def build():
    state = {name: value.numpy() for name, value in t5_hf.build().state_dict().items()}
    params = {
        "shared": state["shared.weight"],
        "encoder": side(state, "encoder", False),
        "decoder": side(state, "decoder", True),
        "lm_head": state["lm_head.weight"].T,
    }
    return t5, jax.tree.map(jnp.asarray, params)
