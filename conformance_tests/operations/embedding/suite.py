"""The suite of token embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase, EmbeddingSpace, embedding_cases
from veriformer.conformance_tests.operations.embedding.inputs import EmbeddingInputs
from veriformer.conformance_tests.operations.embedding.rarities import EMBEDDINGS

SUITES = (
    Suite(
        "token_embedding",
        space=lambda how: EmbeddingSpace(scaled=how),
        draw=embedding_cases,
        inputs=EmbeddingInputs,
        weight=11,
        ordinary=EmbeddingCase(2, 3, 5, 4, palette="normal"),
        rarities=EMBEDDINGS,
        variants=("veriformer.conformance_tests.operations.embedding.variants", "EMBEDDING"),
    ),
)
