"""Regions of the gradients of attention between projections."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

_SINGLE = ("single_head_attention_backward",)
_MULTI = ("multi_head_attention_backward",)

REGIONS = (
    *among(
        (*_SINGLE, *_MULTI),
        ("several samples between projections", "Samples whose gradients add up.", lambda c: c.batch > 1),
        ("several positions between projections", "Positions whose gradients add up.", lambda c: c.query_length > 1),
        ("several keys between projections", "A softmax with a gradient.", lambda c: c.key_length > 1),
    ),
    *among(
        _MULTI,
        ("heads that share projections", "Gradients that add up within a group.", lambda c: c.kv_heads < c.heads),
        ("gradients of biases of projections", "Biases, whose gradients are sums.", lambda c: c.biases),
        ("gradients under the causal flag", "Keys that some queries do not see.", lambda c: c.is_causal),
    ),
)
