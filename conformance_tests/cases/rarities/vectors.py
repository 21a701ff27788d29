"""Rarities of operations on vectors: softmax, norms and activations."""

from __future__ import annotations

from veriformer.conformance_tests.cases.rarities.rarity import Rarity, of_sizes, of_values

_VALUE = ("value",)
_RANKS = "rank_1 rank_2 rank_4 rank_5"
_ANY_VALUES = "minus_zero subnormal zero negative positive small constant whole fraction"
GAINS = "some_negative negative some_zero zero one half minus_zero subnormal fraction small whole positive"


def _widths(*, most: int) -> tuple[Rarity, ...]:
    common = (32, 40, 80, 96, 128, 129, 256, 513, 768, 1025)
    wide = of_sizes(_VALUE, "width", common, batch=1, rows=2)
    # The bound of a layer norm takes a tenth of a second there.
    return (*wide, *of_sizes(_VALUE, "width", (most,), reach=0 if most > 5000 else 1, batch=1, rows=1))


_SHAPES = (
    *of_values(_VALUE, "x", _RANKS, batch=2, rows=3, width=5),
    *of_sizes(_VALUE, "rows", (1030,), batch=1, width=3),
    *of_sizes(_VALUE, "batch", (17, 130), rows=1, width=3),
)
_SOFTMAX = (
    *of_values(_VALUE, "x", f"{_ANY_VALUES} large huge far_below hundred ties", batch=3, rows=2, width=5),
    *_widths(most=33000),
    *_SHAPES,
)
_ENTRIES = (
    *of_values(_VALUE, "x", f"{_ANY_VALUES} large huge far_below hundred", batch=3, rows=2, width=5),
    *of_sizes(_VALUE, "width", (129, 1025), batch=1, rows=2),
    *_SHAPES,
)
_NORMS = (
    *of_values(_VALUE, "x", f"{_ANY_VALUES} large", batch=3, rows=2, width=5),
    *of_values(_VALUE, "gamma", f"{GAINS} large", batch=2, rows=2, width=6),
    *of_values(_VALUE, "gamma", "some_negative fraction", batch=2, rows=1, width=64),
    *(Rarity(_VALUE, {"width": 5, "eps": eps}) for eps in (1e-6, 1e-8, 1e-12)),
    *_widths(most=4097),
    *_SHAPES,
)
_SHIFTS = (
    *of_values(_VALUE, "beta", f"{GAINS} large hundred", batch=2, rows=2, width=6),
    Rarity(_VALUE, {"batch": 2, "rows": 2, "width": 6}, (("gamma", "same_as_beta"),)),
    Rarity(_VALUE, {"batch": 2, "rows": 2, "width": 1}),
)
RARITIES: dict[str, tuple[Rarity, ...]] = {
    "softmax": _SOFTMAX,
    "layer_norm": (*_NORMS, *_SHIFTS),
    "rms_norm": _NORMS,
    "gelu": _ENTRIES,
    "silu": _ENTRIES,
}
