"""Rarities of encoder and decoder layers."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, some_absent, together
from veriformer.conformance_tests.operations.every.rarities import BIASES

_LAYER = ("pre_norm.value", "post_norm.value")
_FEW_GAINS = "some_negative some_zero one fraction half"
# Heads, their width, hidden units, length, batch: every call of a layer is a dozen of others.
_LAYER_SIZES = tuple(
    Rarity(
        _LAYER,
        {
            "batch": batch,
            "heads": heads,
            "length": length,
            "memory": memory,
            "width": width,
            "hidden": hidden,
            "eps": eps,
        },
    )
    for batch, heads, length, memory, width, hidden, eps in (
        (2, 5, 2, 3, 2, 65, 1e-5),
        (1, 9, 2, 2, 2, 130, 1e-6),
        (2, 12, 2, 2, 2, 3, 1e-12),
        (2, 3, 2, 2, 9, 520, 1e-5),
        (1, 2, 2, 3, 17, 3, 1e-6),
        (1, 3, 2, 2, 64, 3, 1e-5),
        (1, 1, 2, 2, 80, 2, 1e-12),
        (1, 1, 65, 66, 2, 2, 1e-5),
        (1, 1, 130, 2, 2, 2, 1e-5),
        (1, 1, 2, 130, 2, 2, 1e-5),
        # As many samples as heads, components, or hidden units.
        (2, 2, 3, 5, 2, 5, 1e-5),
        (4, 2, 3, 5, 2, 4, 1e-5),
    )
)
_LAYER_PADDING = (
    Rarity(_LAYER, {"length": 5, "padding": "right"}, (("padding_mask", "with_gaps"),), frozenset({"padding_mask"})),
    Rarity(_LAYER, {"length": 5, "padding": "right"}, (("padding_mask", "all_true"),), frozenset({"padding_mask"})),
)
_LAYER_BIASES = (
    "weights.feed_forward.b_1",
    "weights.feed_forward.b_2",
    "weights.self_attention.b_q",
    "weights.self_attention.b_o",
)


def _layer(norms: int, *, other_biases: tuple[str, ...] = ()) -> tuple[Rarity, ...]:
    biases = dict.fromkeys((*_LAYER_BIASES[:3], *other_biases[1:]), BIASES)
    gains = {f"weights.norm_{number}.gamma": _FEW_GAINS for number in range(1, norms + 1)}
    shifts = {f"weights.norm_{number}.beta": f"{_FEW_GAINS} zero" for number in range(1, norms + 1)}
    stream = {"x": "zero some_zero positive hundred constant"} | ({"memory": _MEMORY_VALUES} if norms > 2 else {})
    return (
        *_LAYER_SIZES,
        *_LAYER_PADDING,
        *some_absent(_LAYER, (*_LAYER_BIASES, *other_biases)),
        *together(_LAYER, {**biases, **gains, **shifts, **stream}, biases=True),
    )


_MEMORY_VALUES = "zero positive hundred some_zero"
_MEMORY = (
    Rarity(_LAYER, {"length": 4, "memory": 4}, (("memory", "same_as_x"),)),
    *(
        Rarity(
            _LAYER,
            {"memory": 5, "memory_padding": "right"},
            (("memory_padding_mask", kind),),
            frozenset({"memory_padding_mask"}),
        )
        for kind in ("with_gaps", "all_true")
    ),
)
ENCODER_LAYER = _layer(2)
DECODER_LAYER = (
    *_layer(
        3,
        other_biases=(
            "weights.self_attention.b_v",
            "weights.cross_attention.b_q",
            "weights.cross_attention.b_o",
        ),
    ),
    *_MEMORY,
)
