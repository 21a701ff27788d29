"""Regions of whole models and of decoding."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from veriformer.conformance_tests.drawing.region import among

_STACKS = ("encoder", "encoder_decoder", "language_model")
_DECODING = ("decode_step",)


def _pieces(case: Any) -> tuple[int, ...]:
    """Return the number of tokens of each call of a decoding, in order."""
    return tuple(end - start for start, end in pairwise((0, *case.cuts, case.length)))


STACKS = (
    *among(
        _STACKS,
        ("padded sequences", "Some tokens of the model are padding.", lambda c: c.padding != "none"),
        ("one layer", "Nothing is stacked.", lambda c: c.layers == 1),
        ("two layers", "One layer goes on from another.", lambda c: c.layers == 2),
        ("several heads in a model", "Both axes can be mixed up.", lambda c: c.heads > 1 < c.length),
        ("eps of a model that matters", "An eps of a tenth.", lambda c: c.eps == 0.1),
    ),
    *among(
        ("encoder_decoder",),
        ("vaswani", "The architecture of the first Transformer.", lambda c: c.architecture == "vaswani"),
        ("bart", "Its architecture.", lambda c: c.architecture == "bart"),
        ("padded source", "Some of the source is padding.", lambda c: c.source_padding != "none"),
    ),
    *among(
        ("language_model", *_DECODING),
        ("gpt", "Its architecture.", lambda c: c.architecture == "gpt"),
        ("llama", "Its architecture.", lambda c: c.architecture == "llama"),
        (
            "another base in a model",
            "Positions turn, by another base than 10000.",
            lambda c: c.architecture == "llama" and c.rotary_base != 10000.0 and c.length > 1 and c.width > 2 * c.heads,
        ),
    ),
    *among(
        ("language_model",),
        (
            "causal model with padding",
            "Padding together with the triangle.",
            lambda c: c.padding != "none" and c.length > 1,
        ),
    ),
)
DECODING = among(
    _DECODING,
    ("tokens after a cache", "A call that continues from a cache.", lambda c: len(_pieces(c)) > 1),
    ("several tokens after a cache", "And is given several tokens.", lambda c: max(_pieces(c)[1:], default=0) > 1),
    (
        "positions after a cache",
        "A call that continues, with rotary positions.",
        lambda c: c.architecture == "llama" and len(_pieces(c)) > 1,
    ),
    ("padded decoding", "Some earlier tokens are padding.", lambda c: c.padding != "none" and c.length > 1),
    ("positions given", "In any order, for all samples or each.", lambda c: c.positions != "none"),
    ("token by token", "Each call is given one.", lambda c: set(_pieces(c)) == {1} and c.length > 1),
)
REGIONS = (*STACKS, *DECODING)
