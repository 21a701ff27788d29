"""Regions of layers, whole models, what comes before and after them, and of merging."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from veriformer.conformance_tests.cases.regions.region import Region, among

_LAYERS = ("encoder_layer", "decoder_layer")
_STACKS = ("encoder", "encoder_decoder", "language_model")
_DECODING = ("decode_step",)
_LOSS = ("cross_entropy",)
_MERGE = ("merge_attention",)
_EMBEDDING = ("token_embedding",)
_BEYOND_EXP = {"float16": 11.0, "bfloat16": 88.0, "float32": 88.0, "float64": 709.0}


def _pieces(case: Any) -> tuple[int, ...]:
    """Return how many tokens each call of a decoding is given, in order."""
    return tuple(end - start for start, end in pairwise((0, *case.cuts, case.length)))


def _logarithms(given: Any) -> np.ndarray:
    every = np.concatenate([given.lse_a.ravel(), given.lse_b.ravel()])
    return np.asarray(every[np.isfinite(every)])


def _samples_keep_different_numbers(given: Any) -> bool:
    kept = (given.targets != given.ignore_index).sum(axis=-1)
    return bool((kept != kept[0]).any())


TOKENS = among(
    (*_LAYERS, *_STACKS, *_DECODING, "model"),
    ("several tokens", "The length is a real axis.", lambda c: c.length > 1),
    ("tokens of several samples", "So is the batch.", lambda c: c.batch > 1 < c.length),
)
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
        ("causal model with padding", "Padding beside the triangle.", lambda c: c.padding != "none" and c.length > 1),
    ),
)
DECODING = among(
    _DECODING,
    ("tokens after a cache", "A call that goes on from a cache.", lambda c: len(_pieces(c)) > 1),
    ("several tokens after a cache", "And is given several tokens.", lambda c: max(_pieces(c)[1:], default=0) > 1),
    (
        "positions after a cache",
        "A call that goes on, with positions that turn.",
        lambda c: c.architecture == "llama" and len(_pieces(c)) > 1,
    ),
    ("padded decoding", "Some of what was given before is padding.", lambda c: c.padding != "none" and c.length > 1),
    ("positions given", "In any order, for all samples or each.", lambda c: c.positions != "none"),
    ("token by token", "Each call is given one.", lambda c: set(_pieces(c)) == {1} and c.length > 1),
)
BOX = among(
    ("model",),
    ("padded model", "Some of what the model is given is padding.", lambda c: c.padded),
    ("model padded on the left", "The padding comes first.", lambda c: c.padded and c.side == "left"),
    ("one token of a model", "A sequence of one.", lambda c: c.length == 1),
)
EMBEDDING = among(
    _EMBEDDING,
    ("one word", "A vocabulary of one.", lambda c: c.vocabulary == 1),
    ("more tokens than words", "Some word comes twice.", lambda c: c.batch * c.length > c.vocabulary > 1),
    ("more words than tokens", "Some word does not come.", lambda c: c.batch * c.length < c.vocabulary),
    ("as many words as components", "A table that can be transposed.", lambda c: c.vocabulary == c.width > 1),
    ("several samples of several words", "Both axes are real.", lambda c: c.batch > 1 < c.length),
    ("scaled", "Times √E, which is not 1.", lambda c: c.scaled and c.width > 1),
)
LOSS = (
    *among(
        _LOSS,
        ("nothing ignored", "Every target counts.", lambda c: c.ignore == "none"),
        ("ignored value is no class", "As −100.", lambda c: c.ignore == "outside"),
        ("ignored value is minus one", "An index from the end.", lambda c: c.ignore == "minus_one"),
        ("ignored value is a class", "As that of padding.", lambda c: c.ignore == "inside"),
        ("ignored targets", "Some targets do not count.", lambda c: c.ignore != "none"),
        ("ignored and smoothed", "Both at once.", lambda c: c.ignore != "none" and c.label_smoothing),
        ("smoothed by nothing", "A share of zero is given.", lambda c: c.label_smoothing == 0.0),
        ("summed losses", "The sum is asked for.", lambda c: c.reduction == "sum"),
        ("each loss", "Nothing is reduced.", lambda c: c.reduction == "none"),
        ("each loss, some ignored", "Ignored ones are zero.", lambda c: c.reduction == "none" and c.ignore != "none"),
        ("one class", "Nothing to choose from.", lambda c: c.classes == 1),
        ("several classes", "The axis of classes is a real one.", lambda c: c.classes > 1),
        ("many classes", "One more than 64.", lambda c: c.classes == 65),
        ("one target", "A single position.", lambda c: c.batch * c.length == 1),
        ("targets of several samples", "Both axes are real.", lambda c: c.batch > 1 < c.length),
    ),
    Region(
        "samples with different numbers of targets",
        "A mean of means is not the mean.",
        _LOSS,
        lambda c: c.ignore != "none" and c.batch > 1,
        _samples_keep_different_numbers,
    ),
    Region(
        "classes beyond exp",
        "A logit whose exponential overflows.",
        _LOSS,
        lambda c: c.amplitude >= 30,
        lambda given: bool(given.logits.max() > _BEYOND_EXP[given.dtype]),
    ),
)
MERGING = (
    *among(
        _MERGE,
        ("two parts with keys", "No part is empty.", lambda c: c.empty == "none"),
        ("one empty part", "Rows of which one part has no keys.", lambda c: c.empty == "one"),
        ("two empty parts", "Rows of which neither part has keys.", lambda c: c.empty == "both"),
    ),
    Region(
        "logarithms other than zero",
        "The base of the logarithm shows.",
        _MERGE,
        inputs=lambda given: bool((np.abs(_logarithms(given)) > 1).any()),
    ),
    Region(
        "logarithms beyond exp",
        "A logarithm whose exponential overflows.",
        _MERGE,
        lambda c: c.amplitude >= 10,
        lambda given: bool(_logarithms(given).max() > _BEYOND_EXP[given.dtype]),
    ),
)
REGIONS = (*TOKENS, *LAYERS, *MEMORY, *STACKS, *DECODING, *BOX, *EMBEDDING, *LOSS, *MERGING)
