"""Rounding errors carried back through attention between projections."""

from __future__ import annotations

import math

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms
from veriformer.conformance_tests.operations.attention_backward.bounds import backward_bounds
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


def attended_back(
    query: Estimate,
    key: Estimate,
    value: Estimate,
    gradient: Estimate,
    visible: Array,
    precision: Precision,
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the gradients of queries, keys and values (B, H, …) over the visible keys, bool (B, H, L, S).

    Keys and values may have fewer heads than queries, each shared by several in a row, whose gradients add up. A row
    without a visible key has the constant output 0. See `backward_bounds`.
    """
    values = reference.grouped_query_attention_backward(
        query.value, key.value, value.value, gradient.value, mask=visible
    )
    group = query.value.shape[1] // key.value.shape[1]
    keys, of_values = (one.mapped(lambda heads: np.repeat(heads, group, axis=1)) for one in (key, value))
    logits = reference.attention_logits(query.value, keys.value)
    terms = AttentionTerms(
        query=query.value,
        key=keys.value,
        value=of_values.value,
        scale=1.0 / math.sqrt(query.value.shape[-1]),
        logits=np.where(visible, logits, -np.inf),
        weights=reference.masked_softmax(logits, visible),
        output=None,
        query_error=query.error,
        key_error=keys.error,
        value_error=of_values.error,
    )
    bounds = backward_bounds(terms, gradient.value, precision, group, gradient.error)
    of_query, of_key, of_value = (Estimate(one, bound) for one, bound in zip(values, bounds, strict=True))
    return of_query, of_key, of_value
