"""Families: for each operation its formula with every decision an implementer makes as a named choice.

An option is standard, a convention, or a recorded mistake. Conventions, mistakes and ports are all points of a family:
whoever reproduces an implementation's results by a point has found out what it does.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from veriformer.conformance_tests.families.decision import Decision, Option
from veriformer.conformance_tests.families.family import Family, NotDefined, Point

__all__ = ["Decision", "Family", "NotDefined", "Option", "Point", "family_of"]

# The module and the name in it of each operation's family.
_PLACES = {
    "scaled_dot_product_attention": ("attention", "ATTENTION"),
    "grouped_query_attention": ("attention", "ATTENTION"),
    "attention_weights": ("attention", "ATTENTION"),
    "encoder_layer": ("layers", "ENCODER_LAYER"),
    "decoder_layer": ("layers", "DECODER_LAYER"),
    "encoder": ("models", "ENCODER"),
    "encoder_decoder": ("models", "ENCODER_DECODER"),
    "language_model": ("models", "LANGUAGE_MODEL"),
    "decode_step": ("models", "DECODE_STEP"),
    "layer_norm": ("normalisation", "LAYER_NORM"),
    "rms_norm": ("normalisation", "RMS_NORM"),
    "gelu": ("activations", "GELU"),
    "silu": ("activations", "SILU"),
    "feed_forward": ("feed_forward", "FEED_FORWARD"),
    "gated_feed_forward": ("feed_forward", "GATED_FEED_FORWARD"),
    "token_embedding": ("embedding", "EMBEDDING"),
    "softmax": ("softmax", "SOFTMAX"),
    "cross_entropy": ("loss", "CROSS_ENTROPY"),
    "causal_mask": ("masks", "CAUSAL_MASK"),
    "padding_mask": ("masks", "PADDING_MASK"),
    "sinusoidal_positions": ("sinusoids", "SINUSOIDS"),
    "rotary_embedding": ("rotary", "ROTARY"),
    "alibi_bias": ("relative_positions", "ALIBI"),
    "relative_position_bucket": ("buckets", "BUCKETS"),
    "single_head_attention": ("single_head", "SINGLE_HEAD"),
    "multi_head_attention": ("multi_head", "MULTI_HEAD"),
    "merge_attention": ("merging", "MERGING"),
    "scaled_dot_product_attention_backward": ("attention_backward", "ATTENTION_BACKWARD"),
}


@cache
def family_of(operation: str) -> Family | None:
    """Return the family of an operation; None where it has none."""
    place = _PLACES.get(operation)
    if place is None:
        return None
    module = import_module(f"{__name__}.{place[0]}")
    family: Family = getattr(module, place[1])
    return family
