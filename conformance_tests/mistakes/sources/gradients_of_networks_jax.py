"""A gated feed-forward network in JAX with a derivative of its own, which keeps its two projections only."""

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32",)
conventions = {"gelu_form": "tanh"}
FUNCTIONS = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "silu": jax.nn.silu}


def network(activation):
    @jax.custom_vjp
    def apply(x, w_gate, w_up, w_down):
        return forward(x, w_gate, w_up, w_down)[0]

    def forward(x, w_gate, w_up, w_down):
        gate, up = x @ w_gate, x @ w_up
        return (FUNCTIONS[activation](gate) * up) @ w_down, (x, w_gate, w_up, w_down, gate, up)

    def backward(kept, grad_output):
        x, w_gate, w_up, w_down, gate, up = kept
        active, through = jax.vjp(FUNCTIONS[activation], gate)
        grad_hidden = jnp.einsum("...e,fe->...f", grad_output, w_down)
        (grad_gate,) = through(grad_hidden * up)
        grad_up = grad_hidden * active
        grad_x = jnp.einsum("...f,ef->...e", grad_gate, w_gate) + jnp.einsum("...f,ef->...e", grad_up, w_up)
        grad_w_gate = jnp.einsum("...e,...f->ef", x, grad_gate)
        grad_w_up = jnp.einsum("...e,...f->ef", x, grad_up)
        return grad_x, grad_w_gate, grad_w_up, jnp.einsum("...f,...e->fe", active * up, grad_output)

    apply.defvjp(forward, backward)
    return apply


NETWORKS = {name: network(name) for name in FUNCTIONS}


def gated_feed_forward(x, weights, *, activation):
    return NETWORKS[activation](x, weights.w_gate, weights.w_up, weights.w_down)
