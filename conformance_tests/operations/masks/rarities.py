"""Rarities of masks."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes
from veriformer.conformance_tests.operations.every.rarities import VALUE

_LENGTHS = (17, 65, 129, 513, 1025, 2049)
CAUSAL_MASKS = (
    *of_sizes(VALUE, "query_length", _LENGTHS, key_length=3),
    *of_sizes(VALUE, "key_length", _LENGTHS, query_length=3),
    *(Rarity(VALUE, {"query_length": length, "key_length": length}) for length in (24, 66, 130, 300)),
    Rarity(VALUE, {"query_length": 1100, "key_length": 1100}, reach=1),
)
PADDING_MASKS = (
    *(Rarity(VALUE, {"lengths": (length, 3, length - 1), "max_length": length}) for length in _LENGTHS),
    *(Rarity(VALUE, {"lengths": (1, length), "max_length": length + 7}) for length in (70, 130, 260)),
    *(Rarity(VALUE, {"lengths": tuple(range(1, batch + 1)), "max_length": batch}) for batch in (9, 66)),
    Rarity(VALUE, {"lengths": (0, 2, 0), "max_length": 3}),
    Rarity(VALUE, {"lengths": (8, 16, 24), "max_length": 24}),
    Rarity(VALUE, {"lengths": (5, 5, 5), "max_length": 8}),
)
