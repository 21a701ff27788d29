"""Regions of encoder and decoder layers."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

_LAYERS = ("encoder_layer", "decoder_layer")
LAYERS = among(
    _LAYERS,
    ("one token", "A sequence of one.", lambda c: c.length == 1),
    ("layer of one head", "Nothing to split into heads.", lambda c: c.heads == 1),
    ("several heads and tokens", "Both axes can be mixed up.", lambda c: c.heads > 1 < c.length),
    ("norm before", "Pre-norm.", lambda c: c.norm_first),
    ("norm after", "Post-norm.", lambda c: not c.norm_first),
    ("layer with biases", "Every matrix has a bias.", lambda c: c.biases),
    ("layer without biases", "No matrix has a bias.", lambda c: not c.biases),
    ("layer with relu", "max(0, x).", lambda c: c.activation == "relu"),
    ("layer with gelu", "x Φ(x).", lambda c: c.activation == "gelu"),
    ("layer with silu", "x σ(x).", lambda c: c.activation == "silu"),
    ("padded tokens", "Some tokens of the layer are padding.", lambda c: c.padding != "none"),
    ("eps of a layer that matters", "An eps of a tenth.", lambda c: c.eps == 0.1),
)
MEMORY = among(
    ("decoder_layer",),
    ("padded memory", "Some of the memory is padding.", lambda c: c.memory_padding != "none"),
    ("memory longer than the tokens", "Neither axis passes for the other.", lambda c: c.memory > c.length > 1),
    ("memory shorter than the tokens", "Neither axis passes for the other.", lambda c: 1 < c.memory < c.length),
)
REGIONS = (*LAYERS, *MEMORY)
