# A JAX encoder and decoder on jax.nn.dot_product_attention: post-norm, learned positions, padding of the source.
import jax
import jax.numpy as jnp


def norm(p, x):
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6) * p[0] + p[1]


def attend(p, x, memory, heads, **how):
    def split(t):
        return t.reshape(*t.shape[:2], heads, -1)

    y = jax.nn.dot_product_attention(split(x @ p["q"]), split(memory @ p["k"]), split(memory @ p["v"]), **how)
    return y.reshape(x.shape) @ p["o"]


def network(p, x):
    return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def forward(params, source, target):
    seen = (source != 0)[:, None, None, :]
    x = params["source"][source] + params["places"][: source.shape[1]]
    for p in params["encoder"]:
        x = norm(p["n1"], x + attend(p["a"], x, x, 4, mask=seen))
        x = norm(p["n2"], x + network(p, x))
    y = params["target"][target] + params["places"][: target.shape[1]]
    for p in params["decoder"]:
        y = norm(p["n1"], y + attend(p["a"], y, y, 4, is_causal=True))
        y = norm(p["n3"], y + attend(p["c"], y, x, 4, mask=seen))
        y = norm(p["n2"], y + network(p, y))
    return y @ params["out"]


def build():
    width = 32
    keys = iter(jax.random.split(jax.random.PRNGKey(6), 200))

    def matrix(*shape):
        return jax.random.normal(next(keys), shape) * 0.2

    def layer():
        attention = [{name: matrix(width, width) for name in "qkvo"} for _ in range(2)]
        norms = {f"n{i}": [jnp.ones(width), jnp.zeros(width)] for i in (1, 2, 3)}
        return {
            "a": attention[0], "c": attention[1], **norms,
            "w1": matrix(width, 80), "b1": jnp.zeros(80), "w2": matrix(80, width), "b2": jnp.zeros(width),
        }

    encoder = [layer() for _ in range(3)]
    for one in encoder:
        del one["c"], one["n3"]
    params = {
        "source": matrix(55, width), "target": matrix(48, width), "places": matrix(20, width),
        "encoder": encoder, "decoder": [layer() for _ in range(3)], "out": matrix(width, 48),
    }
    return forward, params


def inputs():
    import numpy as np

    generator = np.random.default_rng(9)
    source = generator.integers(1, 55, (2, 10))
    source[1, 7:] = 0
    return source, generator.integers(1, 48, (2, 8))
