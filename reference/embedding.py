"""Vectors for tokens."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_axes, as_tokens


def token_embedding(
    tokens: Int[Array, "B L"], table: Float[Array, "N E"], *, scale_by_sqrt_d_model: bool = False
) -> Float64[Array, "B L E"]:
    """Look up the vector of each token.

    y[b, i] = table[tokens[b, i]], times √E where scaled

    Shapes: tokens (B, L), table (N, E) to (B, L, E).
    Raises: ValueError when tokens are not integers of two axes, or one has no row in the table.
    Source: Vaswani et al. 2017, section 3.4; Phuong & Hutter 2022, algorithm 1.
    Conventions: none. Scaled in the original Transformer and in Gemma; not in BERT, GPT-2 and Llama.
    """
    sizes: dict[str, int] = {}
    rows = as_axes("table", table, "N E", sizes)
    numbers = as_tokens("tokens", tokens)
    # NumPy would count negative numbers from the end.
    wrong = numbers[(numbers < 0) | (numbers >= sizes["N"])]
    if wrong.size:
        raise ValueError(
            f"tokens must be numbers 0 to {sizes['N'] - 1}; got {int(wrong[0])}; give the table a row for every token"
        )
    return np.asarray(rows[numbers] * (np.sqrt(sizes["E"]) if scale_by_sqrt_d_model else 1.0))
