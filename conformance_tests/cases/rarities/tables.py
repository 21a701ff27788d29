"""Rarities of masks, positions, embeddings and losses."""

from __future__ import annotations

from itertools import product

from veriformer.conformance_tests.cases.rarities.rarity import Rarity, of_sizes, of_values

_VALUE = ("value",)
_VALUES = ("values",)
_LENGTHS = (17, 65, 129, 513, 1025, 2049)
_ANY_VALUES = "minus_zero subnormal zero negative positive small constant large"

_CAUSAL_MASKS = (
    *of_sizes(_VALUE, "query_length", _LENGTHS, key_length=3),
    *of_sizes(_VALUE, "key_length", _LENGTHS, query_length=3),
    *(Rarity(_VALUE, {"query_length": length, "key_length": length}) for length in (24, 66, 130, 300)),
    Rarity(_VALUE, {"query_length": 1100, "key_length": 1100}, reach=1),
)
_PADDING_MASKS = (
    *(Rarity(_VALUE, {"lengths": (length, 3, length - 1), "max_length": length}) for length in _LENGTHS),
    *(Rarity(_VALUE, {"lengths": (1, length), "max_length": length + 7}) for length in (70, 130, 260)),
    *(Rarity(_VALUE, {"lengths": tuple(range(1, batch + 1)), "max_length": batch}) for batch in (9, 66)),
    Rarity(_VALUE, {"lengths": (0, 2, 0), "max_length": 3}),
    Rarity(_VALUE, {"lengths": (8, 16, 24), "max_length": 24}),
    Rarity(_VALUE, {"lengths": (5, 5, 5), "max_length": 8}),
)
_SINUSOIDS = (
    *of_sizes(_VALUES, "length", (65, 129, 513, 1025, 2049, 4097), d_model=4),
    *of_sizes(_VALUES, "d_model", (64, 66, 128, 256, 514, 768, 1026), length=3),
    Rarity(_VALUES, {"length": 130, "d_model": 130}),
)
_ROTARY = (
    *of_sizes(_VALUE, "heads", (5, 9, 12, 32), batch=1, length=2, width=4),
    *of_sizes(_VALUE, "width", (32, 40, 64, 80, 96, 128, 256), batch=1, heads=1, length=3),
    *of_sizes(_VALUE, "length", (24, 65, 129, 520), batch=1, heads=1, width=4, furthest=600),
    *of_values(_VALUE, "x", f"{_ANY_VALUES} huge some_zero", batch=2, heads=2, length=3, width=6),
    *of_values(_VALUE, "positions", "far byte all_equal in_order falling all_zero even", batch=2, length=5, width=4),
    *(Rarity(_VALUE, {"batch": size, "length": size, "heads": 2, "width": 4}) for size in (2, 3, 5)),
    *(Rarity(_VALUE, {"base": base, "width": 8}, needs=frozenset({"base"})) for base in (1e6, 5e5, 1e4)),
    *(
        Rarity(_VALUE, {"rotary_dim": turned, "width": width}, needs=frozenset({"rotary_dim"}))
        for turned, width in ((2, 6), (16, 64), (32, 128), (66, 80), (4, 4))
    ),
    Rarity(_VALUE, {"batch": 5, "heads": 1, "length": 2, "width": 4}),
)
_ALIBI = (
    *of_sizes(_VALUE, "heads", (24, 32, 33, 40, 64), query_length=2, key_length=3),
    *of_sizes(_VALUE, "key_length", (24, 65, 129, 513), heads=2, query_length=3),
    *(Rarity(_VALUE, {"heads": 1, "query_length": length, "key_length": length}) for length in (65, 130, 520)),
    Rarity(_VALUE, {"heads": 1, "query_length": 1030, "key_length": 1030}, reach=1),
)
_BUCKET_KEYWORDS = frozenset({"bidirectional", "num_buckets", "max_distance"})
_BUCKETS = (
    *of_values(_VALUE, "relative_position", "rank_1 rank_3 rank_4 rank_5", rows=3, columns=4, furthest=200),
    *(
        Rarity(_VALUE, {"rows": 2, "columns": 30, "furthest": 2 * furthest, **_bucket}, needs=_BUCKET_KEYWORDS)
        for both, buckets, furthest in product((True, False), (8, 16, 32, 64), (64, 128, 256))
        for _bucket in ({"bidirectional": both, "num_buckets": buckets, "max_distance": furthest},)
    ),
    Rarity(_VALUE, {"rows": 3, "columns": 8, "furthest": 400_000}),
    Rarity(_VALUE, {"rows": 40, "columns": 40, "furthest": 1500}),
)
_EMBEDDINGS = (
    *of_sizes(_VALUE, "batch", (5, 17), length=2, vocabulary=7, width=3),
    *of_sizes(_VALUE, "length", (17, 65, 129, 513), batch=1, vocabulary=7, width=3),
    *of_sizes(_VALUE, "width", (64, 65, 129, 513), batch=2, length=3, vocabulary=5),
    *(
        Rarity(_VALUE, {"batch": 2, "length": 3, "vocabulary": size, "width": 2}, (("tokens", "last"),))
        for size in (129, 257, 1001, 32770, 65540)
    ),
    *of_values(_VALUE, "table", f"{_ANY_VALUES} huge", batch=2, length=4, vocabulary=5, width=3),
)
_SMOOTHING = ("smoothing.ignored",)
_REDUCED = frozenset({"reduction"})
_REDUCTIONS = (
    *(
        Rarity((f"reduction.{name}",), {"reduction": name, **sizes}, needs=_REDUCED)
        for name in ("sum", "none")
        for sizes in (
            {"batch": 1, "length": 66, "classes": 5},
            {"batch": 1, "length": 3, "classes": 1001},
            {"batch": 3, "length": 3, "classes": 5},
        )
    ),
    *(
        Rarity(
            (law,), {"reduction": name, "ignore": "outside"}, (("targets", "all_ignored"),), _REDUCED | {"ignore_index"}
        )
        for law, name in (("reduction.sum", "sum"), ("reduction.none.ignored", "none"))
    ),
)
_LOSSES = (
    *_REDUCTIONS,
    *of_sizes(_VALUE, "length", (17, 65, 129), batch=1, classes=5),
    *of_sizes(_VALUE, "batch", (5, 17), length=2, classes=4),
    *(
        Rarity(_VALUE, {"batch": 1, "length": 3, "classes": size}, (("targets", "last"),))
        for size in (129, 257, 1001, 32770, 65540)
    ),
    *of_values(_VALUE, "logits", f"{_ANY_VALUES} huge far_below hundred ties", batch=2, length=3, classes=5),
    *(
        Rarity(
            _SMOOTHING, {"label_smoothing": share, "ignore": "outside", "batch": 2, "length": 3, "classes": 4},
            needs=frozenset({"label_smoothing", "ignore_index"}),
        )
        for share in (0.6, 0.9, 1.0)
    ),
)  # fmt: skip
RARITIES: dict[str, tuple[Rarity, ...]] = {
    "causal_mask": _CAUSAL_MASKS,
    "padding_mask": _PADDING_MASKS,
    "sinusoidal_positions": _SINUSOIDS,
    "rotary_embedding": _ROTARY,
    "alibi_bias": _ALIBI,
    "relative_position_bucket": _BUCKETS,
    "token_embedding": _EMBEDDINGS,
    "cross_entropy": _LOSSES,
}
