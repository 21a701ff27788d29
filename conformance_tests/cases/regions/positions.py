"""Regions of masks and positions: padding, rotation, linear biases, buckets, sinusoids."""

from __future__ import annotations

from veriformer.conformance_tests.cases.regions.region import Region, among

_ROTARY = ("rotary_embedding",)
_ALIBI = ("alibi_bias",)

PADDING = among(
    ("padding_mask",),
    ("several lengths", "Samples of different lengths.", lambda c: len(set(c.lengths)) > 1),
    ("no padding at all", "Every sample is as long as can be.", lambda c: set(c.lengths) == {c.max_length}),
    ("padding in every sample", "No sample is as long as can be.", lambda c: max(c.lengths) < c.max_length),
    ("one length", "A batch of one.", lambda c: len(c.lengths) == 1),
    ("one token in a sample", "All but one of a sample are padding.", lambda c: 1 in c.lengths),
)
ROTARY = (
    *among(
        _ROTARY,
        ("positions of all samples", "One row of positions for the batch.", lambda c: not c.per_sample),
        (
            "positions of each sample",
            "Samples have positions of their own.",
            lambda c: c.per_sample and c.batch > 1 < c.length,
        ),
        ("another base", "A base is given, and several pairs.", lambda c: c.base is not None and c.width > 2),
        ("no base", "The standard base, and several pairs.", lambda c: c.base is None and c.width > 2),
        ("a part turns", "Some components stay.", lambda c: c.rotary_dim is not None and c.rotary_dim < c.width),
        (
            "a part of several pairs turns",
            "Some components stay, and several pairs do not.",
            lambda c: c.rotary_dim is not None and 2 < c.rotary_dim < c.width,
        ),
        ("one pair", "Two components: one angle.", lambda c: c.width == 2),
        ("several pairs", "Several angles.", lambda c: c.width > 2),
        ("many pairs", "64 components.", lambda c: c.width == 64),
        ("heads differ from length", "Neither axis passes for the other.", lambda c: 1 < c.heads != c.length > 1),
        ("one row", "One vector in each head.", lambda c: c.length == 1),
    ),
    Region(
        "positions other than zero",
        "Vectors that turn.",
        _ROTARY,
        inputs=lambda given: bool((given.positions != 0).any()),
    ),
    Region(
        "positions that 16 bits do not count",
        "A position beyond 256.",
        _ROTARY,
        lambda c: c.furthest > 256,
        lambda given: bool((given.positions > 256).any()),
    ),
)
ALIBI = among(
    _ALIBI,
    ("linear bias", "The bias itself, without a softmax that undoes what rows share.", lambda c: c.key_length > 0),
    ("linear bias of several keys", "There are distances.", lambda c: c.key_length > 1),
    ("linear bias, L < S", "Several queries meet more keys.", lambda c: 1 < c.query_length < c.key_length),
    ("linear bias, L = S > 1", "As many queries as keys.", lambda c: c.query_length == c.key_length > 1),
    ("linear bias of one query", "Decoding: one query meets all keys.", lambda c: c.query_length == 1 < c.key_length),
    ("a power of two of heads", "Slopes of one geometric sequence.", lambda c: c.heads in (2, 4, 8, 16)),
    ("another count of heads", "Slopes of two interleaved sequences.", lambda c: c.heads & (c.heads - 1)),
    ("one slope", "A single head.", lambda c: c.heads == 1),
)
BUCKETS = among(
    ("relative_position_bucket",),
    ("both directions", "Earlier and later keys have buckets of their own.", lambda c: c.bidirectional),
    ("one direction", "Later keys share a bucket.", lambda c: c.bidirectional is False),
    ("the numbers of T5", "32 buckets up to 128.", lambda c: (c.num_buckets, c.max_distance) == (32, 128)),
    ("few buckets", "Fewer than 6.", lambda c: c.num_buckets < 6),
    ("beyond the furthest", "Positions that share the last bucket.", lambda c: c.furthest > c.max_distance),
    ("near ones only", "No further than there are buckets.", lambda c: c.furthest <= c.num_buckets),
    ("many distances", "More than 64 of them.", lambda c: c.rows * c.columns > 64),
)
SINUSOIDS = among(
    ("sinusoidal_positions",),
    ("one frequency", "Two components.", lambda c: c.d_model == 2),
    ("several frequencies", "More than two components.", lambda c: c.d_model > 2),
    ("many frequencies", "More than 32 components.", lambda c: c.d_model > 32),
    ("one position", "The first position alone.", lambda c: c.length == 1),
    ("many positions", "More than 20.", lambda c: c.length > 20),
)
REGIONS = (*PADDING, *ROTARY, *ALIBI, *BUCKETS, *SINUSOIDS)
