"""The gradient of the table of tokens' vectors, which the backward pass of a lookup returns."""

from __future__ import annotations

from veriformer.spec.operations.embedding import TOKEN_EMBEDDING
from veriformer.spec.operations.gradients import backward_of

TOKEN_EMBEDDING_BACKWARD = backward_of(
    TOKEN_EMBEDDING,
    ("table",),
    summary="The gradient of a loss with respect to the table of tokens' vectors, given that of the vectors.",
    formula="dW[v] = Σ_(b, i: tokens[b, i] = v) dO[b, i], times √E where scaled",
    source="Phuong & Hutter 2022, algorithm 1, differentiated: a lookup is a product with one-hot rows",
)

OPERATIONS = (TOKEN_EMBEDDING_BACKWARD,)
