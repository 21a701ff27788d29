"""The selective state-space model in JAX, with an associative scan over products and sums."""

import jax
import jax.numpy as jnp
import ssm_torch as source

D, S, R = source.D, source.S, source.R


def rms(x, gain):
    return x / jnp.sqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * gain


def causal_conv(x, kernel, bias):
    width = kernel.shape[0]
    x = jnp.pad(x, ((0, 0), (width - 1, 0), (0, 0)))
    return bias + sum(kernel[i] * x[:, i : x.shape[1] - width + 1 + i] for i in range(width))


def combine(left, right):
    return left[0] * right[0], right[0] * left[1] + right[1]


def mamba(p, x):
    u, z = x @ p["u"], x @ p["z"]
    u = jax.nn.silu(causal_conv(u, p["conv"], p["conv_bias"]))
    dt, b, c = jnp.split(u @ p["dbc"], [R, R + S], axis=-1)
    dt = jnp.logaddexp(dt @ p["dt"] + p["dt_bias"], 0.0)
    a = -jnp.exp(p["a_log"])
    decay = jnp.exp(dt[..., None] * a)
    drive = (dt * u)[..., None] * b[..., None, :]
    _, states = jax.lax.associative_scan(combine, (decay, drive), axis=1)
    y = jnp.einsum("btds,bts->btd", states, c) + p["skip"] * u
    return (y * jax.nn.silu(z)) @ p["out"]


def forward(params, ids):
    x = params["table"][ids]
    for p in params["layers"]:
        x = x + mamba(p, rms(x, p["norm"]))
    return rms(x, params["last"]) @ params["table"].T


def layer(state, i):
    own = {name.removeprefix(f"mixers.{i}."): value for name, value in state.items()}
    u, z = jnp.split(own["in_proj.weight"].T, 2, axis=1)
    return {
        "norm": state[f"norms.{i}.weight"],
        "u": u,
        "z": z,
        "conv": own["conv.weight"][:, 0].T,
        "conv_bias": own["conv.bias"],
        "dbc": own["x_proj.weight"].T,
        "dt": own["dt_proj.weight"].T,
        "dt_bias": own["dt_proj.bias"],
        "a_log": own["A_log"],
        "skip": own["D"],
        "out": own["out_proj.weight"].T,
    }


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in source.build().state_dict().items()}
    layers = [layer(state, i) for i in range(source.N)]
    last = state[f"norms.{source.N}.weight"]
    return forward, {"table": state["embedding.weight"], "layers": layers, "last": last}


inputs = source.inputs
