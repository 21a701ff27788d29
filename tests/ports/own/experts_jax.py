"""The mixture of experts in JAX: all experts see all tokens, and a matrix of weights chooses."""

import experts_torch as source
import jax
import jax.numpy as jnp

E, TOP = source.E, source.TOP


def norm(p, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["gain"] + p["shift"]


def choice(router, x):
    logits = x @ router
    best, chosen = jax.lax.top_k(logits, TOP)
    weights = jax.nn.softmax(best, axis=-1)
    return jnp.einsum("...k,...ke->...e", weights, jax.nn.one_hot(chosen, E, dtype=x.dtype))


def experts(p, x):
    gate = jnp.einsum("btd,edh->bteh", x, p["w1"])
    up = jnp.einsum("btd,edh->bteh", x, p["w3"])
    each = jnp.einsum("bteh,ehd->bted", jax.nn.silu(gate) * up, p["w2"])
    return jnp.einsum("bted,bte->btd", each, choice(p["router"], x))


def forward(params, x):
    x = x @ params["stem"]["w"] + params["stem"]["b"]
    for p in params["layers"]:
        x = x + experts(p["experts"], norm(p["norm"], x))
    return x @ params["head"]["w"] + params["head"]["b"]


def layer(state, i):
    stacked = {
        name: jnp.stack([state[f"layers.{i}.experts.{e}.{name}.weight"].T for e in range(E)])
        for name in ("w1", "w2", "w3")
    }
    return {
        "norm": {"gain": state[f"norms.{i}.weight"], "shift": state[f"norms.{i}.bias"]},
        "experts": stacked | {"router": state[f"layers.{i}.router.weight"].T},
    }


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in source.build().state_dict().items()}
    ends = {name: {"w": state[f"{name}.weight"].T, "b": state[f"{name}.bias"]} for name in ("stem", "head")}
    return forward, {**ends, "layers": [layer(state, i) for i in range(source.N)]}


def inputs():
    return source.inputs().numpy()
