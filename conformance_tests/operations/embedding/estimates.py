"""Rounding errors of embedded tokens, carried on."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding.bounds import embedding_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


def embedded(tokens: Array, table: Array, precision: Precision, *, scale_by_sqrt_d_model: bool = False) -> Estimate:
    """Return the vectors of tokens (..., L): copies, unless they are scaled (see `embedding_bound`)."""
    value = reference.token_embedding(tokens, table, scale_by_sqrt_d_model=scale_by_sqrt_d_model)
    return Estimate(value, embedding_bound(value, precision)) if scale_by_sqrt_d_model else Estimate.exact(value)
