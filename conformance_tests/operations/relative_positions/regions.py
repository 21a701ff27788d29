"""Regions of linear biases and relative buckets."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

_ALIBI = ("alibi_bias",)
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
REGIONS = (*ALIBI, *BUCKETS)
