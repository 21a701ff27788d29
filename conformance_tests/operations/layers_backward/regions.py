"""Regions of the gradients of encoder and decoder layers."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

_DECODER = ("decoder_layer_backward",)
_LAYERS = ("encoder_layer_backward", *_DECODER)

REGIONS = (
    *among(
        _LAYERS,
        ("gradients of a pre-norm layer", "Norms before the sublayers.", lambda c: c.norm_first),
        ("gradients of a post-norm layer", "Norms after the sums.", lambda c: not c.norm_first),
        ("gradients of a padded layer", "Positions that are not real.", lambda c: c.padding != "none"),
        ("gradients of several positions of a layer", "Positions that attend to others.", lambda c: c.length > 1),
        ("gradients of biases of a layer", "Biases, whose gradients are sums.", lambda c: c.biases),
    ),
    *among(
        _DECODER,
        ("gradients of a padded memory", "Positions that are not real.", lambda c: c.memory_padding != "none"),
    ),
)
