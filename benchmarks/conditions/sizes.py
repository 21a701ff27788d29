"""Conditions on sizes: how long an axis is, which two are equal, and the ranks of what may have any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations

from conditions.call import RANKED, RANKED_BACKWARD, Call, Condition

Holds = Callable[[Call], bool]

ATTENTION = (
    "scaled_dot_product_attention",
    "grouped_query_attention",
    "attention_weights",
    "scaled_dot_product_attention_backward",
)
LAYERS = ("multi_head_attention", "encoder_layer", "decoder_layer")
MODELS = ("encoder", "encoder_decoder", "language_model")


def size(axis: str, relation: str, number: int) -> tuple[str, Holds]:
    """Return a condition on the length of one axis."""
    return f"{axis} {relation} {number}", partial(_has_size, axis, relation, number)


def _has_size(axis: str, relation: str, number: int, call: Call) -> bool:
    length = call.sizes.get(axis)
    if length is None:
        return False
    return {"==": length == number, ">": length > number, "% 8 ==": length % 8 == number}[relation]


def words(axis: str, text: str) -> Iterator[tuple[str, Holds]]:
    """Return conditions from a list such as `1 >16 =64`; `8` alone after a per cent sign is divisibility by eight."""
    for word in text.split():
        if word == "%8":
            yield size(axis, "% 8 ==", 0)
        elif word == "odd":
            yield f"{axis} is odd and > 1", partial(_is_odd, axis)
        else:
            yield size(axis, ">" if word.startswith(">") else "==", int(word.lstrip(">=")))


def _is_odd(axis: str, call: Call) -> bool:
    return call.sizes.get(axis, 0) > 1 and call.sizes[axis] % 2 == 1


HEADS = "=1 =2 =3 >4 >8 =12 =16 =32 odd"
LENGTHS = "=1 =2 >16 >64 >128 >512 >1024 %8 =64 odd"
WIDTHS = "=1 >8 >16 =32 =40 =64 =80 =96 =128 >128 odd"
GROUPS = "=1 =2 =3 =4 >4 =8"

_OF_ADDITIONS = {
    "B": "=1 =2",
    "H": "=1 >2 >4 odd",
    "L": "=1 >16 >64 odd",
    "S": "=1 >16 >64 odd",
    "D": "=1 >8 >16 =64 >64 odd",
    "Dv": "=1 >16 =64",
}
_OF_NETWORKS = {"E": "=1 >16 >64 >128 >512 odd", "F": "=1 >16 >64 >128 >512 >1024 odd", "rows": "=1 >16 >128 >1024"}

# Of each operation, the lengths at which something else is done: a block, a buffer, a table, a kernel's special case.
LENGTHS_OF: Mapping[str, Mapping[str, str]] = {
    "softmax": {"n": "=1 =2 >16 >64 >128 =256 >512 >1024 >4096 >32768 %8 odd", "rows": "=1 >16 >128 >1024"},
    "scaled_dot_product_attention": {
        "B": "=1 =2 >4 >16",
        "H": HEADS,
        "L": LENGTHS,
        "S": LENGTHS,
        "D": WIDTHS,
        "Dv": "=1 >16 =64 >64 =128",
    },
    "grouped_query_attention": {
        "B": "=1 =2 >4",
        "H": HEADS,
        "G": "=1 =2 =3 >4 =8",
        "group": GROUPS,
        "L": LENGTHS,
        "S": LENGTHS,
        "D": WIDTHS,
    },
    "attention_weights": {"B": "=1 =2 >4", "H": HEADS, "L": LENGTHS, "S": LENGTHS, "D": WIDTHS},
    "scaled_dot_product_attention_backward": {
        "B": "=1 =2 >4",
        "H": "=1 =2 >4 >8 =12 odd",
        "L": "=1 >16 >64 >128 >512 %8 odd",
        "S": "=1 >16 >64 >128 >512 %8",
        "D": WIDTHS,
        "Dv": "=1 >16 =64 =128",
    },
    "single_head_attention": {
        "B": "=1 =2 >4 >16",
        "L": "=1 =2 >16 >64 >128 >512 %8 odd",
        "E": "=1 >16 >64 >128 =512 odd",
        "D": "=1 =2 >8 >16 =32 =64 =80 =128 odd",
        "Dv": "=1 >16 =64 >64",
    },
    "multi_head_attention": {
        "B": "=1 =2 >4",
        "H": "=1 =2 >4 >8 =12 odd",
        "group": "=1 =2 =3 =4 =8",
        "L": "=1 >16 >64 >128 %8 odd",
        "S": "=1 >16 >64 >128",
        "D": "=1 >8 >16 =32 =64 =80 =128 odd",
        "E": ">16 >64 >128 >512 odd",
        "Dv": ">16 =64",
    },
    "causal_mask": {"L": "=1 >16 >64 >128 >512 >1024 >2048 %8 odd", "S": "=1 >16 >64 >128 >512 >1024 >2048 %8 odd"},
    "padding_mask": {"B": "=1 =2 >8 >64", "S": "=1 >16 >64 >128 >512 >1024 >2048 %8 odd"},
    "sinusoidal_positions": {
        "L": "=1 >16 >64 >128 >512 >1024 >2048 >4096 odd",
        "E": "=2 =4 >16 >64 =64 >128 =256 >512 =768 >1024",
    },
    "rotary_embedding": {
        "B": "=1 >4",
        "H": "=1 >4 >8 =32 odd",
        "L": "=1 >16 >64 >128 >512 %8",
        "D": "=2 =4 >16 =32 =64 =80 =96 =128 >128",
    },
    "alibi_bias": {
        "H": "=1 =2 =3 =4 =6 =7 =8 =12 >8 >16 >32 =40",
        "L": "=1 >16 >64 >128 >512 >1024",
        "S": "=1 >64 >512",
    },
    "layer_norm": {"E": "=1 =2 >16 >64 >128 =256 >512 =768 >1024 >4096 %8 odd", "rows": "=1 >16 >128 >1024"},
    "rms_norm": {"E": "=1 =2 >16 >64 >128 =256 >512 =768 >1024 >4096 %8 odd", "rows": "=1 >16 >128 >1024"},
    "token_embedding": {
        "B": "=1 >4 >16",
        "L": "=1 >16 >64 >128 >512",
        "N": "=1 =2 >128 >256 >1000 >32768 >65536",
        "E": "=1 >16 >64 =64 >128 >512 odd",
    },
    "cross_entropy": {
        "B": "=1 >4 >16",
        "L": "=1 >16 >64 >128",
        "N": "=1 =2 >64 >128 >256 >1000 >32768 %8 odd",
    },
    "gelu": {"n": "=1 >16 >64 >128 >1024"},
    "silu": {"n": "=1 >16 >64 >128 >1024"},
    "feed_forward": {"E": "=1 >16 >64 >128 >512 odd", "F": "=1 >16 >64 >128 >512 >1024 odd", "rows": "=1 >16 >128"},
    "gated_feed_forward": {"E": "=1 >16 >64 >128 >512 odd", "F": "=1 >16 >64 >128 >512 >1024 odd", "rows": "=1 >16"},
    "merge_attention": {
        "B": "=1 >4",
        "H": "=1 >4 >8 =12 odd",
        "L": "=1 >16 >64 >128 >512 %8",
        "Dv": "=1 >16 =32 =64 =80 =128 >128 odd",
    },
    "encoder_layer": {
        "B": "=1 >4",
        "H": "=1 >2 >4 >8 odd",
        "L": "=1 >16 >64 >128",
        "D": "=1 >8 >16 =64",
        "E": ">16 >64 >128 odd",
        "F": "=1 >16 >64 >128 >512",
    },
    "decoder_layer": {
        "B": "=1 >4",
        "H": "=1 >2 >4 >8 odd",
        "L": "=1 >16 >64 >128",
        "S": "=1 >16 >64 >128",
        "D": "=1 >8 >16 =64",
        "E": ">16 >64 >128 odd",
        "F": "=1 >16 >64 >128 >512",
    },
    "encoder": {
        "B": "=1 >2",
        "H": "=1 >2 >4 >8 odd",
        "L": "=1 >8 >16 >64 >128",
        "D": "=1 >8 >16 =64",
        "E": ">16 >64 >128",
        "F": ">16 >64 >128",
        "N": ">64 >128 >256 >1000",
    },
    "encoder_decoder": {
        "B": "=1 >2",
        "H": "=1 >2 >4 >8 odd",
        "L": "=1 >8 >16 >64",
        "S": "=1 >8 >16 >64",
        "D": "=1 >8 >16 =64",
        "E": ">16 >64 >128",
        "F": ">16 >64 >128",
        "N": ">64 >128 >256 >1000",
    },
    "language_model": {
        "B": "=1 >2",
        "H": "=1 >2 >4 >8 odd",
        "group": "=2 =3 =4 =8",
        "L": "=1 >8 >16 >64 >128",
        "D": ">8 >16 =64",
        "E": ">16 >64 >128",
        "F": ">16 >64 >128",
        "N": ">64 >128 >256 >1000",
    },
    "decode_step": {
        "B": "=1 >2",
        "H": "=1 >2 >4 >8",
        "group": "=2 =3 =4 =8",
        "T": "=1 >1 >4 >8 >16",
        "D": ">8 >16",
        "E": ">16 >64",
        "N": ">64 >256",
    },
    "model": {"B": "=1 >1 >4", "L": "=1 >2 >8 =16"},
    "merge_attention_backward": {
        "B": "=1 =2",
        "H": "=1 >4 >8 odd",
        "L": "=1 >16 >64 >128 %8",
        "Dv": "=1 >16 =64 >64 odd",
    },
    "attention_weights_backward": {
        "B": "=1 =2",
        "H": "=1 >2 >4 odd",
        "L": "=1 >16 >64 odd",
        "S": "=1 >16 >64 odd",
        "D": "=1 >8 >16 =64 >64 odd",
    },
    "attention_bias_backward": _OF_ADDITIONS,
    "attention_sinks_backward": _OF_ADDITIONS,
    "next_token_loss": {"B": "=1 >4 >16", "L": "=2 >16 >64 >128", "N": "=1 =2 >64 >128 >256 >1000 >32768 odd"},
    "next_token_loss_backward": {"B": "=1 >4 >16", "L": "=2 >16 >64", "N": "=1 =2 >64 >256 >1000 odd"},
    "feed_forward_backward": _OF_NETWORKS,
    "gated_feed_forward_backward": _OF_NETWORKS,
    "dropout": {"n": "=1 >16 >64 >128 >1024 odd", "rows": "=1 >16 >128 >1024"},
    "dropout_backward": {"n": "=1 >16 >64 >128 >1024 odd", "rows": "=1 >16 >128"},
    "adamw_step": {"n": "=1 =2 >16 >64 >128 >1024 %8 odd"},
}

# Which two axes can be taken for each other where they are as long: each pair of these.
CONFUSED: Mapping[str, tuple[str, ...]] = {
    "softmax": ("n", "rows"),
    "scaled_dot_product_attention": ("B", "H", "L", "S", "D", "Dv"),
    "grouped_query_attention": ("B", "H", "G", "group", "L", "S", "D"),
    "attention_weights": ("B", "H", "L", "S", "D"),
    "scaled_dot_product_attention_backward": ("B", "H", "L", "S", "D", "Dv"),
    "single_head_attention": ("B", "L", "D", "Dv", "E"),
    "multi_head_attention": ("B", "H", "G", "L", "S", "D", "E"),
    "causal_mask": ("L", "S"),
    "padding_mask": ("B", "S"),
    "sinusoidal_positions": ("L", "E"),
    "rotary_embedding": ("B", "H", "L", "D"),
    "alibi_bias": ("H", "L", "S"),
    "layer_norm": ("E", "rows"),
    "rms_norm": ("E", "rows"),
    "token_embedding": ("B", "L", "N", "E"),
    "cross_entropy": ("B", "L", "N"),
    "feed_forward": ("E", "F", "rows"),
    "gated_feed_forward": ("E", "F", "rows"),
    "merge_attention": ("B", "H", "L", "Dv"),
    "encoder_layer": ("B", "H", "L", "D", "E", "F"),
    "decoder_layer": ("B", "H", "L", "S", "E", "F"),
    "encoder": ("B", "H", "L", "E", "F", "N"),
    "encoder_decoder": ("B", "H", "L", "S", "E"),
    "language_model": ("B", "H", "L", "E", "F", "N"),
    "decode_step": ("B", "H", "T"),
    "model": ("B", "L"),
    "merge_attention_backward": ("B", "H", "L", "Dv"),
    "attention_weights_backward": ("B", "H", "L", "S", "D"),
    **dict.fromkeys(("attention_bias_backward", "attention_sinks_backward"), ("B", "H", "L", "S", "D")),
    **dict.fromkeys(("next_token_loss", "next_token_loss_backward"), ("B", "L", "N")),
    **dict.fromkeys(("feed_forward_backward", "gated_feed_forward_backward"), ("E", "F", "rows")),
}


def equal(first: str, second: str) -> tuple[str, Holds]:
    """Return the condition that two axes are equally long, and longer than one."""
    return f"{first} == {second} > 1", partial(_are_equal, first, second)


def _are_equal(first: str, second: str, call: Call) -> bool:
    return call.sizes.get(first, 0) == call.sizes.get(second, -1) > 1


def longer(first: str, second: str, times: int = 1) -> tuple[str, Holds]:
    """Return the condition that one axis is longer than so many times another."""
    name = f"{first} > {second}" if times == 1 else f"{first} > {times} {second}"
    return name, partial(_is_longer, first, second, times)


def _is_longer(first: str, second: str, times: int, call: Call) -> bool:
    return call.sizes.get(first, 0) > times * call.sizes.get(second, 10**9)


LONGER: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    **dict.fromkeys(
        ATTENTION, (("L", "S", 1), ("S", "L", 1), ("L", "S", 4), ("S", "L", 4), ("L", "D", 1), ("D", "S", 1))
    ),
    "single_head_attention": (
        ("L", "D", 1),
        ("D", "L", 1),
        ("L", "E", 1),
        ("E", "D", 1),
        ("E", "D", 4),
        ("D", "E", 1),
        ("Dv", "D", 1),
        ("D", "Dv", 1),
        ("Dv", "E", 1),
    ),
    "multi_head_attention": (("L", "S", 1), ("S", "L", 1)),
    "causal_mask": (("L", "S", 1), ("S", "L", 1), ("L", "S", 4), ("S", "L", 4)),
    "alibi_bias": (("L", "S", 1), ("S", "L", 1), ("H", "L", 1)),
    "sinusoidal_positions": (("L", "E", 1), ("E", "L", 1)),
    "token_embedding": (("E", "N", 1), ("N", "E", 1), ("L", "N", 1)),
    "cross_entropy": (("L", "N", 1), ("N", "L", 1)),
    **dict.fromkeys(("feed_forward", "gated_feed_forward", "encoder_layer", "encoder"), (("E", "F", 1), ("F", "E", 2))),
    "decoder_layer": (("L", "S", 1), ("S", "L", 1), ("F", "E", 2)),
    "encoder_decoder": (("L", "S", 1), ("S", "L", 1)),
    "language_model": (("L", "N", 1), ("F", "E", 2)),
}


def ranks(operation: str) -> Iterator[Condition]:
    """Return the ranks that something of any rank can have."""
    for rank in range(1, 6):
        yield Condition(operation, "rank", *size("rank", "==", rank))


def conditions_of_sizes() -> Iterator[Condition]:
    """Return all conditions on sizes."""
    for operation, axes in LENGTHS_OF.items():
        for axis, text in axes.items():
            yield from (Condition(operation, "size", *one) for one in words(axis, text))
    for operation, letters in CONFUSED.items():
        yield from (Condition(operation, "equal sizes", *equal(*pair)) for pair in combinations(letters, 2))
    for operation, pairs in LONGER.items():
        yield from (Condition(operation, "order of sizes", *longer(*pair)) for pair in pairs)
    for operation in (*RANKED, *RANKED_BACKWARD):
        yield from ranks(operation)
