"""Rarities of the gradient of rotary embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES

_VALUE = ("grad_x",)
ROTARY_BACKWARD = (
    *of_sizes(_VALUE, "heads", (5, 9, 12, 32), batch=1, length=2, width=4),
    *of_sizes(_VALUE, "width", (32, 40, 64, 80, 96, 128, 256), batch=1, heads=1, length=3),
    *of_sizes(_VALUE, "length", (24, 65, 129, 520), batch=1, heads=1, width=4, furthest=600),
    *of_values(_VALUE, "grad_output", f"{ANY_VALUES} huge some_zero whole", batch=2, heads=2, length=3, width=6),
    *of_values(_VALUE, "x", "minus_zero subnormal zero small constant huge", batch=2, heads=2, length=3, width=6),
    *of_values(_VALUE, "positions", "far byte all_equal in_order falling all_zero even", batch=2, length=5, width=4),
    *(Rarity(_VALUE, {"batch": size, "length": size, "heads": 2, "width": 4}) for size in (2, 3, 5)),
    Rarity(_VALUE, {"batch": 4, "length": 3, "heads": 2, "width": 4}),
    *(Rarity(_VALUE, {"base": base, "width": 8}, needs=frozenset({"base"})) for base in (1e6, 5e5, 1e4)),
    *(
        Rarity(_VALUE, {"rotary_dim": turned, "width": width}, needs=frozenset({"rotary_dim"}))
        for turned, width in ((2, 6), (16, 64), (32, 128), (66, 80), (4, 4))
    ),
)
