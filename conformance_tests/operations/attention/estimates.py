"""Rounding errors carried on through attention."""

from __future__ import annotations

import math

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms, attention_bound
from veriformer.conformance_tests.operations.softmax.bounds import softmax_over
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EmptyRow


def attended(
    query: Estimate,
    key: Estimate,
    value: Estimate,
    visible: Array,
    precision: Precision,
    *,
    bias: Array | None = None,
    empty_row: EmptyRow = "zeros",
) -> Estimate:
    """Return attention of heads (B, H, …) over the visible keys, bool (B, H, L, S): see `attention_bound`.

    Keys and values may have fewer heads than queries, each shared by several in a row. A row without a visible key
    has no weights, or equal ones where the convention is the mean of all values.
    """
    group = query.value.shape[1] // key.value.shape[1]
    key, value = (one.mapped(lambda heads: np.repeat(heads, group, axis=1)) for one in (key, value))
    logits = reference.attention_logits(query.value, key.value, bias=bias)
    logits, visible, weights = softmax_over(logits, visible, empty_row)
    output = reference.weighted_sum(weights, value.value, visible)
    scale = 1.0 / math.sqrt(query.value.shape[-1])
    terms = AttentionTerms(
        query.value, key.value, value.value, scale, logits, weights, output, query.error, key.error, value.error
    )
    return Estimate(output, attention_bound(terms, precision))
