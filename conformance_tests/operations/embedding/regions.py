"""Regions of token embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_EMBEDDING = with_gradients("token_embedding")
REGIONS = among(
    _EMBEDDING,
    ("one word", "A vocabulary of one.", lambda c: c.vocabulary == 1),
    ("more tokens than words", "Some word comes twice.", lambda c: c.batch * c.length > c.vocabulary > 1),
    ("more words than tokens", "Some word does not come.", lambda c: c.batch * c.length < c.vocabulary),
    ("as many words as components", "A table that can be transposed.", lambda c: c.vocabulary == c.width > 1),
    ("several samples of several words", "Both axes are real.", lambda c: c.batch > 1 < c.length),
    ("scaled", "Times √E, which is not 1.", lambda c: c.scaled and c.width > 1),
)
