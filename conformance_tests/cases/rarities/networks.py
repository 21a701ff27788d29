"""Rarities of feed-forward networks, layers and multi-head attention."""

from __future__ import annotations

from itertools import combinations

from veriformer.conformance_tests.cases.rarities.rarity import Change, Rarity, of_sizes, of_values, together

_VALUE = ("value",)
_LAYER = ("pre_norm.value", "post_norm.value")
_RANKS = "rank_1 rank_2 rank_4 rank_5"
_VECTORS = "minus_zero subnormal zero negative positive small constant large"
_BIASES = "some_negative negative zero some_zero fraction half whole positive hundred"
_FEW_GAINS = "some_negative some_zero one fraction half"


def without(*paths: str) -> tuple[Change, ...]:
    """Return the changes that take biases away."""
    return tuple((path, "absent") for path in paths)


def some_absent(laws: tuple[str, ...], paths: tuple[str, ...], **fields: object) -> tuple[Rarity, ...]:
    """Return a rarity for each bias that is there alone, and for each that alone is missing."""
    gone = (*combinations(paths, len(paths) - 1), *combinations(paths, 1))
    return tuple(Rarity(laws, {"biases": True, **fields}, without(*names)) for names in dict.fromkeys(gone))


_NETWORK = (
    *of_values(_VALUE, "x", f"{_RANKS} {_VECTORS}", batch=2, rows=3, width=5, hidden=7),
    *of_sizes(_VALUE, "width", (65, 129, 513), batch=1, rows=2, hidden=3),
    *of_sizes(_VALUE, "hidden", (65, 129, 513, 1025), batch=1, rows=2, width=3),
    *of_sizes(_VALUE, "rows", (140,), batch=1, width=3, hidden=2),
    Rarity(_VALUE, {"batch": 2, "rows": 2, "width": 3, "hidden": 4}),
    Rarity(_VALUE, {"batch": 2, "rows": 2, "width": 4, "hidden": 4}),
)
_FEED_FORWARD = (
    *_NETWORK,
    *some_absent(_VALUE, ("weights.b_1", "weights.b_2"), batch=2, rows=2, width=4, hidden=5),
    *of_values(_VALUE, "weights.b_1 weights.b_2", _BIASES, biases=True, width=3, hidden=4),
    *of_values(_VALUE, "weights.w_1 weights.w_2", "zero positive whole", biases=True, width=3, hidden=4),
)
_GATED = (
    *_NETWORK,
    *of_values(_VALUE, "weights.w_gate weights.w_up weights.w_down", "zero positive whole", width=3, hidden=4),
)
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
    biases = dict.fromkeys((*_LAYER_BIASES[:3], *other_biases[1:]), _BIASES)
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
RARITIES: dict[str, tuple[Rarity, ...]] = {
    "feed_forward": _FEED_FORWARD,
    "gated_feed_forward": _GATED,
    "encoder_layer": _layer(2),
    "decoder_layer": (
        *_layer(
            3,
            other_biases=(
                "weights.self_attention.b_v",
                "weights.cross_attention.b_q",
                "weights.cross_attention.b_o",
            ),
        ),
        *_MEMORY,
    ),
}
