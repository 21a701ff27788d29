"""Rarities of the gradient of the cross-entropy."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES

_VALUE = ("grad_logits",)
_REDUCED = frozenset({"reduction"})
_NONE_KEPT = (("targets", "all_ignored"),)
LOSSES_BACKWARD = (
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
        Rarity((law,), {"reduction": name, "ignore": "outside"}, _NONE_KEPT, _REDUCED | {"ignore_index"})
        for law, name in (("reduction.sum", "sum"), ("reduction.none.ignored", "none"))
    ),
    Rarity(("ignore.value",), {"ignore": "outside"}, (("targets", "none_ignored"),), frozenset({"ignore_index"})),
    *of_values(("reduction.none",), "grad_output", f"{ANY_VALUES} whole", _REDUCED, reduction="none"),
    *of_values(_VALUE, "grad_output", "minus_zero subnormal zero negative small large"),
    *of_sizes(_VALUE, "length", (17, 65, 129), batch=1, classes=5),
    *of_sizes(_VALUE, "batch", (5, 17), length=2, classes=4),
    *(
        Rarity(_VALUE, {"batch": 1, "length": 3, "classes": size}, (("targets", "last"),))
        for size in (129, 257, 1001, 32770, 65540)
    ),
    *of_values(_VALUE, "logits", f"{ANY_VALUES} huge far_below hundred ties", batch=2, length=3, classes=5),
    *(
        Rarity(
            ("smoothing.ignored",),
            {"label_smoothing": share, "ignore": "outside", "batch": 2, "length": 3, "classes": 4},
            needs=frozenset({"label_smoothing", "ignore_index"}),
        )
        for share in (0.6, 0.9, 1.0)
    ),
)
