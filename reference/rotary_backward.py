"""The backward pass of rotary position embeddings."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_grad_output
from veriformer.reference.conventions import RotaryPairing
from veriformer.reference.rotary import pair_places, rotary_embedding


def rotary_embedding_backward(
    x: Float[Array, "B H L D"],
    positions: Int[Array, " L"] | Int[Array, "B L"],
    grad_output: Float[Array, "B H L D"],
    *,
    base: float = 10000.0,
    rotary_dim: int | None = None,
    pairing: RotaryPairing = "interleaved",
) -> Float64[Array, "B H L D"]:
    """Trace the gradient of a loss from turned vectors back to the vectors: it is turned back by the same angles.

    dx_a = dO_a cos pθ_k + dO_b sin pθ_k
    dx_b = dO_b cos pθ_k − dO_a sin pθ_k

    a and b are the components of the pair k, as in `rotary_embedding`. Components that do not turn pass their gradient
    on as it is. The values of x do not matter.

    Shapes: x and grad_output (B, H, L, D), positions (L,) or (B, L), to (B, H, L, D).
    Raises: ValueError as `rotary_embedding` does, and when grad_output has not the shape of x.
    Source: Su et al. 2021, section 3.2.2: the transpose of a rotation matrix is the rotation back.
    Conventions: rotary_pairing, see `rotary_embedding`. Liger-Kernel and flash-attention turn back in place.
    """
    turned = rotary_embedding(x, positions, base=base, rotary_dim=rotary_dim, pairing=pairing)
    gradient = as_grad_output(grad_output, turned.shape)
    # Turning back is turning of pairs whose second component has the opposite sign, which is then given back.
    _, second = pair_places(turned.shape[-1] if rotary_dim is None else rotary_dim, pairing)
    mirror = np.ones(turned.shape[-1])
    mirror[second] = -1.0
    back = rotary_embedding(mirror * gradient, positions, base=base, rotary_dim=rotary_dim, pairing=pairing)
    return np.asarray(mirror * back)
