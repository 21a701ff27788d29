"""The suite of the gradient of the table of token embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase, EmbeddingSpace, embedding_cases
from veriformer.conformance_tests.operations.embedding_backward.inputs import EmbeddingBackwardInputs
from veriformer.conformance_tests.operations.embedding_backward.rarities import EMBEDDINGS_BACKWARD

SUITES = (
    Suite(
        "token_embedding_backward",
        space=lambda how: EmbeddingSpace(scaled=how),
        draw=embedding_cases,
        inputs=EmbeddingBackwardInputs,
        weight=12,
        ordinary=EmbeddingCase(2, 3, 5, 4, palette="normal"),
        rarities=EMBEDDINGS_BACKWARD,
        variants=("veriformer.conformance_tests.operations.embedding_backward.variants", "EMBEDDING_BACKWARD"),
    ),
)
