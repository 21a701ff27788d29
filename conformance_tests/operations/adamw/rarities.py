"""Rarities of a step of AdamW."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import SMALL_VALUES, VALUE

_ARRAYS = ("parameter", "gradient", "first_moment", "second_moment")
_RANKS = ("rank_1", "rank_2", "rank_4", "rank_5")
STEPS = (
    *(Rarity(VALUE, {"batch": 2, "rows": 3}, tuple((name, rank) for name in _ARRAYS)) for rank in _RANKS),
    *of_sizes(VALUE, "width", (32, 80, 128, 257, 1025), batch=1, rows=2),
    *of_sizes(VALUE, "batch", (17, 130), rows=1, width=3),
    *of_values(VALUE, "parameter", f"{SMALL_VALUES} large huge", batch=2, rows=2, width=3),
    *of_values(VALUE, "gradient", f"{SMALL_VALUES} hundred large", batch=2, rows=2, width=3),
    Rarity(VALUE, {}, (("gradient", "same_as_parameter"),)),
    *(Rarity(VALUE, {"step": step}) for step in (4, 5, 50, 5000, 100000)),
    *(Rarity(VALUE, {"learning_rate": rate}) for rate in (1e-5, 3e-4, 1.0, 2.0)),
    *(Rarity(VALUE, {"weight_decay": decay}) for decay in (1e-4, 1e-3, 0.3, 1.0)),
    *(
        Rarity(VALUE, {"beta1": beta1, "beta2": beta2})
        for beta1, beta2 in ((0.0, 0.9), (0.9, 0.0), (0.3, 0.95), (0.99, 0.9999))
    ),
    *(Rarity(VALUE, {"eps": eps}) for eps in (0.5, 2.0)),
)
