"""Conditions on what is there: each optional argument alone, with each other, without it; shapes of masks; numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations, permutations

import numpy as np

from conditions.call import Array, Call, Condition

Holds = Callable[[Call], bool]
Test = Callable[[Array, Call], bool]

ADDITIONS = ("attention_bias_backward", "attention_sinks_backward")
_MASKS = ("mask", "bias", "is_causal", "scale")
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "scaled_dot_product_attention": (*_MASKS, "window", "softcap", "sinks"),
    "grouped_query_attention": (*_MASKS, "window", "softcap", "sinks"),
    "attention_weights": (*_MASKS, "window", "softcap", "sinks"),
    "single_head_attention": ("mask",),
    "scaled_dot_product_attention_backward": ("mask", "is_causal", "scale"),
    "multi_head_attention": ("num_kv_heads", "mask", "is_causal"),
    "rotary_embedding": ("base", "rotary_dim"),
    "token_embedding": ("scale_by_sqrt_d_model",),
    "cross_entropy": ("ignore_index", "label_smoothing", "reduction"),
    "encoder_layer": ("padding_mask",),
    "decoder_layer": ("padding_mask", "memory_padding_mask"),
    "encoder": ("padding_mask",),
    "encoder_decoder": ("source_padding_mask", "target_padding_mask"),
    "language_model": ("padding_mask",),
    "decode_step": ("positions", "padding_mask"),
    "model": ("padding_mask",),
    "attention_weights_backward": (*_MASKS, "window", "softcap", "sinks"),
    "attention_bias_backward": ("mask", "is_causal", "scale", "window", "softcap", "sinks"),
    "attention_sinks_backward": (*_MASKS, "window", "softcap"),
    "next_token_loss": ("ignore_index",),
    "next_token_loss_backward": ("ignore_index",),
}
BIASES: Mapping[str, tuple[str, ...]] = {
    "multi_head_attention": tuple(f"weights.b_{one}" for one in "qkvo"),
    "feed_forward": ("weights.b_1", "weights.b_2"),
    "encoder_layer": (
        "weights.feed_forward.b_1",
        "weights.feed_forward.b_2",
        "weights.self_attention.b_q",
        "weights.self_attention.b_o",
    ),
    "decoder_layer": (
        "weights.feed_forward.b_1",
        "weights.feed_forward.b_2",
        "weights.self_attention.b_v",
        "weights.cross_attention.b_q",
        "weights.cross_attention.b_o",
    ),
    "feed_forward_backward": ("weights.b_1", "weights.b_2"),
}


def _there(name: str, call: Call) -> bool:
    return call.array(name) is not None if "." in name else call.given(name)


def _all_there(there: tuple[str, ...], absent: tuple[str, ...], call: Call) -> bool:
    return all(_there(name, call) for name in there) and not any(_there(name, call) for name in absent)


def presence(operation: str, names: tuple[str, ...]) -> Iterator[Condition]:
    """Return: none there, all there, each there, each alone, each absent while others are there, each pair."""

    def condition(text: str, there: tuple[str, ...], absent: tuple[str, ...]) -> Condition:
        return Condition(operation, "presence", text, partial(_all_there, there, absent))

    yield condition(f"without {', '.join(names)}", (), names)
    for name in names:
        others = tuple(one for one in names if one != name)
        yield condition(f"{name} is there", (name,), ())
        if others:
            yield condition(f"{name} alone", (name,), others)
    for first, second in combinations(names, 2):
        yield condition(f"{first} and {second}", (first, second), ())
    if len(names) <= 4:
        for first, second in permutations(names, 2):
            yield condition(f"{first} without {second}", (first,), (second,))
    if 2 < len(names) <= 4:
        yield condition(f"all of {', '.join(names)}", names, ())


def _visible(mask: Array, call: Call) -> Array:
    sizes = call.sizes
    shape = (sizes["B"], sizes.get("H", 1), sizes["L"], sizes["S"])
    # Of one head a mask has no axis of heads.
    return np.broadcast_to(mask[:, None] if mask.ndim == 3 else mask, shape)


SHAPES: Mapping[str, Test] = {
    "(L, S)": lambda mask, call: mask.ndim == 2,
    "rank 4": lambda mask, call: mask.ndim == 4,
    "(1, 1, L, S)": lambda mask, call: mask.ndim == 4 and mask.shape[:2] == (1, 1) and call.sizes["B"] > 1,
    "(B, 1, 1, S)": lambda mask, call: mask.ndim == 4 and mask.shape[1:3] == (1, 1) and mask.shape[0] > 1,
    "(B, 1, L, S)": lambda mask, call: (
        mask.ndim == 4 and mask.shape[1] == 1 and mask.shape[0] > 1 and mask.shape[2] > 1
    ),
    "(1, H, L, S)": lambda mask, call: mask.ndim == 4 and mask.shape[0] == 1 and mask.shape[1] > 1,
    "(B, H, L, S)": lambda mask, call: mask.ndim == 4 and min(mask.shape[:2]) > 1,
    "(·, ·, L, 1)": lambda mask, call: mask.shape[-1] == 1 and call.sizes["S"] > 1,
    "(·, ·, 1, S)": lambda mask, call: mask.shape[-2] == 1 and call.sizes["L"] > 1,
    "(B, 1, ·, ·) where B == H": lambda mask, call: (
        mask.ndim == 4 and mask.shape[1] == 1 and mask.shape[0] == call.sizes.get("H") > 1
    ),
    "(1, H, ·, ·) where B == H": lambda mask, call: (
        mask.ndim == 4 and mask.shape[0] == 1 and mask.shape[1] == call.sizes.get("B") > 1
    ),
    "rank 2 where L == S": lambda mask, call: mask.ndim == 2 and mask.shape[0] == mask.shape[1] > 1,
    "not contiguous": lambda mask, call: not mask.flags.c_contiguous,
}
SHAPES_OF_ONE_HEAD: Mapping[str, Test] = {
    "(L, L)": lambda mask, call: mask.ndim == 2,
    "rank 3": lambda mask, call: mask.ndim == 3,
    "(1, L, L)": lambda mask, call: mask.ndim == 3 and mask.shape[0] == 1 and call.sizes["B"] > 1,
    "(B, 1, L)": lambda mask, call: mask.ndim == 3 and mask.shape[1] == 1 and min(mask.shape[0], mask.shape[2]) > 1,
    "(B, L, 1)": lambda mask, call: mask.ndim == 3 and mask.shape[2] == 1 and min(mask.shape[:2]) > 1,
    "(B, L, L)": lambda mask, call: mask.ndim == 3 and min(mask.shape) > 1,
    "(B, 1, L) where B == L": lambda mask, call: (
        mask.ndim == 3 and mask.shape[1] == 1 and mask.shape[0] == mask.shape[2] > 1
    ),
    "(1, L, L) where B == L": lambda mask, call: (
        mask.ndim == 3 and mask.shape[0] == 1 and mask.shape[1] == call.sizes["B"] > 1
    ),
    "(L, L) where B == L": lambda mask, call: mask.ndim == 2 and mask.shape[0] == call.sizes["B"] > 1,
    "not contiguous": lambda mask, call: not mask.flags.c_contiguous,
    "of more than 64 tokens": lambda mask, call: mask.shape[-1] > 64,
    "lower triangle": lambda mask, call: bool(
        mask.ndim > 1 and mask.shape[-1] > 2 and np.array_equal(_visible(mask, call)[0, 0], np.tri(mask.shape[-1]))
    ),
}
SEEN: Mapping[str, Test] = {
    "hides nothing": lambda mask, call: bool(np.all(mask)),
    "hides everything": lambda mask, call: not np.any(mask),
    "hides every key from a query": lambda mask, call: bool(np.any(~np.any(_visible(mask, call), axis=-1))),
    "hides a key from every query": lambda mask, call: bool(np.any(~np.any(_visible(mask, call), axis=-2))),
    "hides exactly one key of many from every query": lambda mask, call: bool(
        call.sizes["S"] > 2 and np.any(np.sum(~np.any(_visible(mask, call), axis=-2), axis=-1) == 1)
    ),
    "hides the first key": lambda mask, call: bool(np.any(~np.any(_visible(mask, call)[..., 0], axis=-1))),
    "hides the last key": lambda mask, call: bool(np.any(~np.any(_visible(mask, call)[..., -1], axis=-1))),
    "shows a query one key of many": lambda mask, call: bool(
        call.sizes["S"] > 1 and np.any(np.sum(_visible(mask, call), axis=-1) == 1)
    ),
    "has a gap": lambda mask, call: bool(
        np.any(np.abs(np.diff(_visible(mask, call).astype(int), axis=-1)).sum(-1) > 2)
    ),
    "differs between heads": lambda mask, call: bool(np.any(_visible(mask, call)[:, :1] != _visible(mask, call))),
    "differs between samples": lambda mask, call: bool(np.any(_visible(mask, call)[:1] != _visible(mask, call))),
}


def _of_mask(name: str, test: Test, call: Call) -> bool:
    mask = call.array(name)
    return mask is not None and mask.ndim > 0 and test(mask, call)


def _number(name: str, test: Callable[[float], bool], call: Call) -> bool:
    found = call.arguments.get(name)
    return isinstance(found, int | float) and test(found)


NUMBERS: Mapping[str, Mapping[str, Callable[[float], bool]]] = {
    "scale": {
        "== 1": lambda x: x == 1,
        "> 1": lambda x: x > 1,
        "< 0.1": lambda x: x < 0.1,
        "is a whole number": lambda x: x == int(x),
        "== 0.125": lambda x: x == 0.125,
    },
    "softcap": {
        "> 10": lambda x: x > 10,
        "== 50": lambda x: x == 50,
        "== 30": lambda x: x == 30,
        "< 1": lambda x: 0 < x < 1,
        "== 0": lambda x: x == 0,
    },
    "eps": {
        "== 1e-5": lambda x: x == 1e-5,
        "== 1e-6": lambda x: x == 1e-6,
        "< 1e-8": lambda x: x < 1e-8,
        "> 1e-3": lambda x: x > 1e-3,
        "== 1e-12": lambda x: x == 1e-12,
    },
    "base": {
        "== 10000": lambda x: x == 10000,
        "> 10000": lambda x: x > 10000,
        "== 500000": lambda x: x == 500000,
        "< 1000": lambda x: x < 1000,
        "== 1000000": lambda x: x == 1000000,
    },
    "label_smoothing": {
        "== 0.1": lambda x: x == 0.1,
        "> 0.5": lambda x: x > 0.5,
        "== 0": lambda x: x == 0,
        "== 1": lambda x: x == 1,
    },
    "ignore_index": {
        "< 0": lambda x: x < 0,
        "== -100": lambda x: x == -100,
        "== 0": lambda x: x == 0,
        "> 0": lambda x: x > 0,
    },
}
NUMBERS_OF = {
    "scaled_dot_product_attention": ("scale", "softcap"),
    "grouped_query_attention": ("scale", "softcap"),
    "attention_weights": ("scale", "softcap"),
    "scaled_dot_product_attention_backward": ("scale",),
    "layer_norm": ("eps",),
    "rms_norm": ("eps",),
    "encoder_layer": ("eps",),
    "decoder_layer": ("eps",),
    "rotary_embedding": ("base",),
    "cross_entropy": ("label_smoothing", "ignore_index"),
    **dict.fromkeys(("attention_weights_backward", *ADDITIONS), ("scale", "softcap")),
    "next_token_loss": ("ignore_index",),
    "next_token_loss_backward": ("ignore_index",),
}
WINDOWS: Mapping[str, Callable[[int | None, int | None, Call], bool]] = {
    "(0, 0)": lambda left, right, call: (left, right) == (0, 0),
    "open on the left": lambda left, right, call: left in (None, -1) and right not in (None, -1),
    "open on the right": lambda left, right, call: right in (None, -1) and left not in (None, -1),
    "open on both sides": lambda left, right, call: left in (None, -1) and right in (None, -1),
    "with −1": lambda left, right, call: -1 in (left, right),
    "with None": lambda left, right, call: None in (left, right),
    "wider than the keys": lambda left, right, call: left is not None and left >= call.sizes["S"],
    "of more keys on the right": lambda left, right, call: (right or 0) > (left if left not in (None, -1) else 10**6),
    "of more than 8 keys": lambda left, right, call: (left or 0) > 8,
    "of more than 64 keys": lambda left, right, call: (left or 0) > 64,
}


def _of_window(test: Callable[[int | None, int | None, Call], bool], call: Call) -> bool:
    window = call.arguments.get("window")
    return window is not None and test(*window, call)


def _choice(path: str, value: object, call: Call) -> bool:
    first, *members = path.split(".")
    found = call.arguments.get(first)
    for member in members:
        found = getattr(found, member, None)
    return type(found) is type(value) and found == value


def _both(first: Holds, second: Holds, call: Call) -> bool:
    return first(call) and second(call)


CHOICES: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "feed_forward": {"activation": ("relu", "gelu", "silu")},
    "gated_feed_forward": {"activation": ("relu", "gelu", "silu")},
    "encoder_layer": {"norm_first": (True, False), "activation": ("relu", "gelu", "silu")},
    "decoder_layer": {"norm_first": (True, False), "activation": ("relu", "gelu", "silu")},
    "encoder": {"config.num_layers": (1, 2, 3)},
    "encoder_decoder": {"config.architecture": ("vaswani", "bart"), "config.num_layers": (1, 2, 3)},
    "language_model": {"config.architecture": ("gpt", "llama"), "config.num_layers": (1, 2, 3)},
    "decode_step": {"config.architecture": ("gpt", "llama"), "config.num_layers": (1, 2, 3)},
    "initial_weights": {
        "config.architecture": ("gpt", "llama", "bert"),
        "config.num_layers": (1, 2, 3),
        "seed": (0, 1, 2, 42, 1234),
    },
    "relative_position_bucket": {
        "bidirectional": (True, False),
        "num_buckets": (32, 64, 16, 8),
        "max_distance": (128, 64, 256),
    },
    "cross_entropy": {"reduction": ("mean", "sum", "none")},
    "feed_forward_backward": {"activation": ("relu", "gelu", "silu")},
    "gated_feed_forward_backward": {"activation": ("relu", "gelu", "silu")},
}


def _of_choices(operation: str, choices: Mapping[str, tuple[object, ...]]) -> Iterator[Condition]:
    found = [
        [(f"{name} {value}", partial(_choice, name, value)) for value in values] for name, values in choices.items()
    ]
    yield from (Condition(operation, "choice", *one) for options in found for one in options)
    for first, second in combinations(found, 2):
        for left in first:
            for right in second:
                both = partial(_both, left[1], right[1])
                yield Condition(operation, "choice", f"{left[0]}, {right[0]}", both)


MASKED = (
    "scaled_dot_product_attention",
    "grouped_query_attention",
    "attention_weights",
    "scaled_dot_product_attention_backward",
    "multi_head_attention",
)


def conditions_of_keywords() -> Iterator[Condition]:
    """Return all conditions on optional arguments, on masks and on plain numbers."""
    for operation, names in (*OPTIONAL.items(), *BIASES.items()):
        yield from presence(operation, names)
    for operation in (*MASKED, "attention_weights_backward", *ADDITIONS):
        for text, test in (SHAPES | SEEN).items():
            yield Condition(operation, "mask", f"mask {text}", partial(_of_mask, "mask", test))
    for operation in (*MASKED[:3], *ADDITIONS):
        for text, test in SHAPES.items():
            yield Condition(operation, "mask", f"bias {text}", partial(_of_mask, "bias", test))
    seen_by_one_head = {text: test for text, test in SEEN.items() if text != "differs between heads"}
    for text, test in (SHAPES_OF_ONE_HEAD | seen_by_one_head).items():
        yield Condition("single_head_attention", "mask", f"mask {text}", partial(_of_mask, "mask", test))
    for operation in MASKED[:3]:
        yield from (
            Condition(operation, "window", f"window {text}", partial(_of_window, one)) for text, one in WINDOWS.items()
        )
    for operation, names in NUMBERS_OF.items():
        for name in names:
            for text, is_so in NUMBERS[name].items():
                yield Condition(operation, "number", f"{name} {text}", partial(_number, name, is_so))
    for operation, choices in CHOICES.items():
        yield from _of_choices(operation, choices)
