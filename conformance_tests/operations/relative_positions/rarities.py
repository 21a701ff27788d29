"""Rarities of linear biases and relative buckets."""

from __future__ import annotations

from itertools import product

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import VALUE

ALIBI = (
    *of_sizes(VALUE, "heads", (24, 32, 33, 40, 64), query_length=2, key_length=3),
    *of_sizes(VALUE, "key_length", (24, 65, 129, 513), heads=2, query_length=3),
    *(Rarity(VALUE, {"heads": 1, "query_length": length, "key_length": length}) for length in (65, 130, 520)),
    Rarity(VALUE, {"heads": 1, "query_length": 1030, "key_length": 1030}, reach=1),
)
_BUCKET_KEYWORDS = frozenset({"bidirectional", "num_buckets", "max_distance"})
BUCKETS = (
    *of_values(VALUE, "relative_position", "rank_1 rank_3 rank_4 rank_5", rows=3, columns=4, furthest=200),
    *(
        Rarity(VALUE, {"rows": 2, "columns": 30, "furthest": 2 * furthest, **_bucket}, needs=_BUCKET_KEYWORDS)
        for both, buckets, furthest in product((True, False), (8, 16, 32, 64), (64, 128, 256))
        for _bucket in ({"bidirectional": both, "num_buckets": buckets, "max_distance": furthest},)
    ),
    Rarity(VALUE, {"rows": 3, "columns": 8, "furthest": 400_000}),
    Rarity(VALUE, {"rows": 40, "columns": 40, "furthest": 1500}),
)
