"""Rarities of the gradients of merged attention."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values

_VALUE = ("grad_output_a", "grad_lse_a", "grad_output_b", "grad_lse_b")
_ANY_VALUES = "minus_zero subnormal zero negative positive constant small"
_SIZES: dict[str, Any] = {"heads": 2, "length": 3, "keys": 4, "width": 3}
MERGING_BACKWARD = (
    *of_sizes(_VALUE, "heads", (5, 9, 12), batch=1, length=2, keys=3, width=2),
    *of_sizes(_VALUE, "length", (24, 65, 130, 520), batch=1, heads=1, keys=3, width=2),
    *of_sizes(_VALUE, "width", (32, 40, 64, 80, 128, 256), batch=1, heads=1, length=3, keys=4),
    *(Rarity(_VALUE, {"batch": size, "width": size, "heads": 1, "length": 2}) for size in (2, 3)),
    *of_values(_VALUE, "output_a output_b grad_output grad_lse", f"{_ANY_VALUES} large", **_SIZES),
    *of_values(_VALUE, "lse_a", f"{_ANY_VALUES} large far_below", **_SIZES),
    Rarity(_VALUE, {"width": 3}, (("output_b", "same_as_output_a"), ("lse_b", "same_as_lse_a"))),
    Rarity(_VALUE, {"width": 3}, (("grad_output", "same_as_output_a"),)),
)
