"""The tagger in JAX: a scan, gates in the order of Keras."""

import jax
import jax.numpy as jnp
import lstm_torch as source

H = source.H


def lstm(p, x):
    whole = x @ p["kernel"] + p["bias"]

    def step(carry, now):
        h, c = carry
        i, g, f, o = jnp.split(now + h @ p["recurrent"], 4, axis=-1)
        c = c * jax.nn.sigmoid(f) + jnp.tanh(g) * jax.nn.sigmoid(i)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[0], H), x.dtype)
    _, out = jax.lax.scan(step, (zeros, zeros), whole.swapaxes(0, 1))
    return out.swapaxes(0, 1)


def forward(params, ids):
    y = lstm(params["first"], params["emb"][ids])
    z = y + lstm(params["second"], y)
    scores = jnp.tanh(z @ params["score"] + params["score_bias"]) @ params["context"]
    weights = jax.nn.softmax(scores, axis=1)
    summary = jnp.einsum("bt,btd->bd", weights, z)
    upper, lower = params["tag"][:H], params["tag"][H:]
    return z @ upper + (summary @ lower)[:, None] + params["tag_bias"]


def reordered(columns):
    i, f, g, o = jnp.split(columns, 4, axis=-1)
    return jnp.concatenate([i, g, f, o], axis=-1)


def cell(state, name):
    return {
        "kernel": reordered(state[name + ".from_input.weight"].T),
        "bias": reordered(state[name + ".from_input.bias"]),
        "recurrent": reordered(state[name + ".from_state.weight"].T),
    }


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in source.build().state_dict().items()}
    params = {
        "emb": state["emb.weight"],
        "first": cell(state, "first"),
        "second": cell(state, "second"),
        "score": state["score.weight"].T,
        "score_bias": state["score.bias"],
        "context": state["context.weight"][0],
        "tag": state["tag.weight"].T,
        "tag_bias": state["tag.bias"],
    }
    return forward, params


inputs = source.inputs
