"""The MLP-mixer in NumPy, as functions of a dictionary of weights."""

import mixer_torch as source
import numpy as np


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def erf(x):
    """The error function, by its integral with forty Gauss nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.expand_dims(x, -1) / 2
    return 2 / np.sqrt(np.pi) * (half * weights * np.exp(-((half * (nodes + 1)) ** 2))).sum(-1)


def norm(x, gain, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) * gain + shift


def over_positions(p, x):
    hidden = np.einsum("blc,lt->btc", x, p["up"]) + p["up_bias"][:, None]
    return np.einsum("btc,tl->blc", gelu(hidden), p["down"]) + p["down_bias"][:, None]


def over_channels(p, x):
    return gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def forward(params, x):
    x = x @ params["patch"] + params["patch_bias"]
    for p in params["blocks"]:
        x = x + over_positions(p["tokens"], norm(x, *p["norm1"]))
        x = x + over_channels(p["channels"], norm(x, *p["norm2"]))
    return norm(x, *params["norm"]).mean(1) @ params["head"] + params["head_bias"]


def mlp(state, name):
    return {
        "up": state[name + ".fc1.weight"].T.copy(),
        "up_bias": state[name + ".fc1.bias"],
        "down": state[name + ".fc2.weight"].T.copy(),
        "down_bias": state[name + ".fc2.bias"],
    }


def pair(state, name):
    return state[name + ".weight"], state[name + ".bias"]


def build():
    state = {name: value.numpy().copy() for name, value in source.build().state_dict().items()}
    blocks = [
        {
            "norm1": pair(state, f"blocks.{i}.norm1"),
            "norm2": pair(state, f"blocks.{i}.norm2"),
            "tokens": mlp(state, f"blocks.{i}.tokens"),
            "channels": mlp(state, f"blocks.{i}.channels"),
        }
        for i in range(source.N)
    ]
    params = {"blocks": blocks, "norm": pair(state, "norm")}
    for name in ("patch", "head"):
        params[name], params[name + "_bias"] = state[name + ".weight"].T.copy(), state[name + ".bias"]
    return forward, params


def inputs():
    return source.inputs().numpy()
