"""Regions that several topics share."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among
from veriformer.spec.operations import OPERATIONS


def with_gradients(*names: str) -> tuple[str, ...]:
    """Return operations and their backward passes, as far as there are any."""
    return tuple(name for name, operation in OPERATIONS.items() if name in names or operation.forward in names)


_VECTORS = with_gradients("softmax", "layer_norm", "rms_norm", "gelu", "silu")
_OF_ANY_WIDTH = with_gradients("softmax", "rms_norm", "gelu", "silu")
VECTORS = among(
    _VECTORS,
    ("two components", "The shortest vectors with anything to compare.", lambda c: c.width == 2),
    ("components at a block of 16", "16 components, or one more.", lambda c: c.width in (16, 17)),
    ("components at a block of 64", "64 components, or one more.", lambda c: c.width in (64, 65)),
    ("components of a block and a tail", "More than 8, no multiple of 8.", lambda c: c.width > 8 and c.width % 8),
    ("several rows of several samples", "Neither axis passes for the features.", lambda c: c.batch > 1 < c.rows),
    ("components of amplitude 4", "Large components.", lambda c: c.amplitude == 4),
)
WIDTHS = among(_OF_ANY_WIDTH, ("one component", "A vector of one component.", lambda c: c.width == 1))
_LAYERS = ("encoder_layer", "decoder_layer")
_STACKS = ("encoder", "encoder_decoder", "language_model")
_DECODING = ("decode_step",)
TOKENS = among(
    (*_LAYERS, *_STACKS, *_DECODING, "model"),
    ("several tokens", "The length is a real axis.", lambda c: c.length > 1),
    ("tokens of several samples", "So is the batch.", lambda c: c.batch > 1 < c.length),
)
REGIONS = (*VECTORS, *WIDTHS, *TOKENS)
