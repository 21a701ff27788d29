"""The backward pass of token embeddings."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_grad_output
from veriformer.reference.embedding import token_embedding


def token_embedding_backward(
    tokens: Int[Array, "B L"],
    table: Float[Array, "N E"],
    grad_output: Float[Array, "B L E"],
    *,
    scale_by_sqrt_d_model: bool = False,
) -> Float64[Array, "N E"]:
    """Trace the gradient of a loss from the vectors of tokens back to their table.

    dW[v] = Σ_(b, i: tokens[b, i] = v) dO[b, i], times √E where scaled

    A token that occurs several times gets the sum, one that does not occur gets 0. The table's values do not matter.

    Shapes: tokens (B, L), table (N, E), grad_output (B, L, E) to (N, E).
    Raises: ValueError as `token_embedding` does, and when grad_output has not the shape of the vectors.
    Source: Phuong & Hutter 2022, algorithm 1, differentiated: y = one-hot(tokens) W, so that dW = one-hot(tokens)ᵀ dO.
    Conventions: none. torch's padding_idx, which keeps one row without a gradient, is not part of the operation.
    """
    vectors = token_embedding(tokens, table, scale_by_sqrt_d_model=scale_by_sqrt_d_model)
    gradient = as_grad_output(grad_output, vectors.shape)
    result = np.zeros_like(table, dtype=np.float64)
    # Unlike result[tokens] += …, this adds for every repeated token.
    np.add.at(result, np.asarray(tokens), gradient)
    return result * (np.sqrt(result.shape[-1]) if scale_by_sqrt_d_model else 1.0)
