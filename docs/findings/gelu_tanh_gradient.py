"""The gradient of GELU in the tanh form is NaN where 3x² overflows in jax, and where x² does in torch: 0 · infinity."""

import jax
import torch
from jax import numpy as jnp

for dtype, near, far in ((jnp.float16, 147.0, 148.0), (jnp.float32, 1e19, 2e19), (jnp.bfloat16, 1e19, 2e19)):
    found = [float(jax.grad(jax.nn.gelu)(jnp.asarray(x, dtype))) for x in (near, far)]
    print(f"jax, {dtype.__name__}: {found[0]} at {near:g}, {found[1]} at {far:g}")
    assert (found[0], found[1] == found[1]) == (1.0, False)
for x, is_right in ((1e19, True), (2e19, False)):
    given = torch.tensor(x, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.nn.functional.gelu(given, approximate="tanh"), given)
    print(f"torch, float32: {slope.item()} at {x:g}")
    assert (slope.item() == 1.0) == is_right
