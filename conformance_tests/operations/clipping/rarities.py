"""Rarities of clipping by the norm of all gradients."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import SMALL_VALUES, VALUE

CLIPPING = (
    *(Rarity(VALUE, {"rows": 3}, (("gradients.0", rank),)) for rank in ("rank_1", "rank_3", "rank_4", "rank_5")),
    *of_sizes(VALUE, "width", (32, 80, 128, 257), arrays=2, rows=1),
    *of_sizes(VALUE, "arrays", (17, 40), rows=1, width=2),
    *of_values(VALUE, "gradients.0", f"{SMALL_VALUES} hundred", arrays=2, rows=2, width=3),
    *of_values(VALUE, "gradients.1", "zero one minus_zero large", arrays=2, rows=2, width=3),
    *(Rarity(VALUE, {"bound": "within"}, (("max_norm", bound),)) for bound in (10.0, 1e3, 1e4)),
    *(Rarity(VALUE, {"bound": "beyond"}, (("max_norm", bound),)) for bound in (1.0, 0.1, 0.01)),
)
