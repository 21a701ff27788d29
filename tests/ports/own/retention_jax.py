"""The retentive network in its recurrent form, in JAX."""

import jax
import jax.numpy as jnp
import retention_torch as source

H = 3


def rms(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def group_norm(y, gain, shift):
    mean = y.mean(-1, keepdims=True)
    var = ((y - mean) ** 2).mean(-1, keepdims=True)
    y = (y - mean) / jnp.sqrt(var + 1e-5)
    return y.reshape(*y.shape[:-2], -1) * gain + shift


def retention(p, x):
    b, t, d = x.shape
    qkv = x @ p["qkv"]
    q, k, v = jnp.moveaxis(qkv.reshape(b, t, 3, H, d // H), 2, 0)
    q = q / jnp.sqrt(d // H)
    decay = 1 - 2.0 ** (-2 - jnp.arange(H, dtype=x.dtype))

    def step(state, qkv):
        q, k, v = qkv
        state = state * decay[:, None, None] + k[..., :, None] * v[..., None, :]
        return state, jnp.einsum("bhd,bhde->bhe", q, state)

    first = jnp.zeros((b, H, d // H, d // H), x.dtype)
    _, y = jax.lax.scan(step, first, tuple(jnp.swapaxes(one, 0, 1) for one in (q, k, v)))
    y = group_norm(jnp.swapaxes(y, 0, 1), p["norm"]["gain"], p["norm"]["shift"])
    g = x @ p["g"]
    return (g * jax.nn.sigmoid(g) * y) @ p["o"]


def forward(params, ids):
    x = params["emb"][ids]
    for p in params["blocks"]:
        x = x + retention(p["mix"], rms(x, p["norm"]))
    return x @ params["out"]["w"] + params["out"]["b"]


def convert(state):
    def kernel(name):
        return state[name + ".weight"].T

    blocks = []
    for i in range(source.N):
        at = f"blocks.{i}.mix."
        blocks.append(
            {
                "norm": state[f"blocks.{i}.norm.weight"],
                "mix": {
                    "qkv": jnp.concatenate([kernel(at + n) for n in "qkv"], axis=1),
                    "g": kernel(at + "g"),
                    "o": kernel(at + "o"),
                    "norm": {"gain": state[at + "norm.weight"], "shift": state[at + "norm.bias"]},
                },
            }
        )
    return {"emb": state["emb.weight"], "blocks": blocks, "out": {"w": kernel("out"), "b": state["out.bias"]}}


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in source.build().state_dict().items()}
    return forward, convert(state)


inputs = source.inputs
