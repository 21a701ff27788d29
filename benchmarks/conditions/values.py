"""Conditions on values: what the numbers of an array are, and how an array lies in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from conditions.call import Array, Call, Condition

Test = Callable[[Array], bool]


def _finite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0.0)


def _row(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1]) if x.ndim and x.shape[-1] else x.reshape(-1, 1)


def _tiny(x: Array) -> float:
    return float(np.finfo(x.dtype).tiny) if x.dtype.kind == "f" else 0.0


FLOATS: Mapping[str, Test] = {
    "has a negative entry": lambda x: bool(np.any(x < 0)),
    "has a zero": lambda x: bool(np.any(x == 0)),
    "has a −0.0": lambda x: bool(np.any((x == 0) & np.signbit(x))),
    "has a subnormal": lambda x: bool(np.any((x != 0) & (np.abs(x) < _tiny(x)))),
    "has an entry of 1e30": lambda x: bool(np.any(np.isfinite(x) & (np.abs(x) >= 9e29))),
    "has an entry above 10,000": lambda x: bool(np.any(np.isfinite(x) & (np.abs(x) > 1e4))),
    "has an entry above 88": lambda x: bool(np.any(np.isfinite(x) & (x > 88))),
    "has an entry below −88": lambda x: bool(np.any(np.isfinite(x) & (x < -88))),
    "has an entry below −1e9": lambda x: bool(np.any(np.isfinite(x) & (x < -1e9))),
    "is all negative": lambda x: bool(x.size and np.all(x < 0)),
    "is all positive": lambda x: bool(x.size and np.all(x > 0)),
    "is all zero": lambda x: bool(x.size and np.all(x == 0)),
    "is all one": lambda x: bool(x.size and np.all(x == 1)),
    "is constant, not 0 or 1": lambda x: bool(x.size > 1 and np.all(x == x.flat[0]) and x.flat[0] not in (0.0, 1.0)),
    "has whole numbers only": lambda x: bool(x.size and np.any(x != 0) and np.all(np.isfinite(x) & (x == np.rint(x)))),
    "has a row of negative numbers": lambda x: bool(np.any(np.all(_row(x) < 0, axis=-1))),
    "has a row of positive numbers": lambda x: bool(np.any(np.all(_row(x) > 0, axis=-1))),
    "has a row of zeros": lambda x: bool(np.any(np.all(_row(x) == 0, axis=-1))),
    "has a row of equal numbers": lambda x: bool(
        x.ndim and x.shape[-1] > 1 and np.any(np.all(_row(x) == _row(x)[:, :1], axis=-1) & (_row(x)[:, 0] != 0))
    ),
    "has two equal rows": lambda x: bool(x.ndim > 1 and _row(x)[:64].shape[0] > len(np.unique(_row(x)[:64], axis=0))),
    "is everywhere below 0.001": lambda x: bool(x.size and np.any(x != 0) and np.all(np.abs(x) < 1e-3)),
    "has its greatest entry twice in a row": lambda x: bool(
        x.ndim and x.shape[-1] > 1 and np.any(np.sum(_row(x) == _row(x).max(axis=-1, keepdims=True), axis=-1) > 1)
    ),
    "is not contiguous": lambda x: not x.flags.c_contiguous,
    "cannot be written to": lambda x: not x.flags.writeable,
    "has NaN": lambda x: bool(np.any(np.isnan(x))),
    "has an infinity": lambda x: bool(np.any(np.isinf(x))),
    "has −∞": lambda x: bool(np.any(np.isneginf(x))),
    "has a fraction above 1": lambda x: bool(np.any((np.abs(_finite(x)) > 1) & (_finite(x) != np.rint(_finite(x))))),
}
EVERY_SIGN = (
    "has a negative entry|has a zero|has a −0.0|has a subnormal|has whole numbers only|is all zero|is all negative"
)
ANY = (
    EVERY_SIGN
    + "|is all positive|has an entry above 10,000|is not contiguous|has two equal rows|is everywhere below 0.001"
)
LOGITS = (
    ANY + "|has an entry of 1e30|has an entry above 88|has an entry below −88|has an entry below −1e9"
    "|has a row of negative numbers|has a row of equal numbers|has a row of zeros|has its greatest entry twice in a row"
)
QUERY = EVERY_SIGN + "|has an entry above 88|is not contiguous|has two equal rows|has a row of zeros|is all positive"
VALUE = QUERY + "|has an entry of 1e30|has NaN|has an infinity|has a row of equal numbers"
GAIN = (
    "has a negative entry|has a zero|is all zero|is all one|is constant, not 0 or 1|is all negative|has a −0.0"
    "|is all positive|has an entry above 10,000|has a fraction above 1|has whole numbers only|is everywhere below 0.001"
    "|has a subnormal|is not contiguous"
)
SHIFT = GAIN + "|has an entry above 88"
WEIGHT = "has a negative entry|has a zero|is all zero|is not contiguous|is all positive|has whole numbers only"
BIAS = WEIGHT + "|is all negative|has a fraction above 1|has an entry above 88|is constant, not 0 or 1"
VECTOR = ANY + "|has a row of zeros|has a row of equal numbers|has a row of negative numbers|is constant, not 0 or 1"
VECTOR_BACK = ANY + "|has a row of zeros|has a row of equal numbers|is constant, not 0 or 1"

ATTENTION_VALUES = {
    "query": QUERY,
    "key": QUERY + "|has NaN|has an infinity",
    "value": VALUE,
    "bias": EVERY_SIGN + "|is all positive|has −∞|has an entry below −1e9|has an entry above 88|is not contiguous",
    "sinks": "has a negative entry|has a zero|is all zero|has an entry above 88|has an entry below −88"
    "|is constant, not 0 or 1",
}
NORM_OF_A_LAYER = "has a negative entry|has a zero|is all one|has a fraction above 1"
LAYER_VALUES = {
    "x": "has a zero|is all zero|is all positive|has two equal rows|is not contiguous|has an entry above 88",
    "weights.feed_forward.b_1": BIAS,
    "weights.feed_forward.b_2": BIAS,
    "weights.self_attention.b_q": BIAS,
    "weights.norm_1.gamma": NORM_OF_A_LAYER,
    "weights.norm_1.beta": NORM_OF_A_LAYER + "|is all zero",
    "weights.norm_2.gamma": NORM_OF_A_LAYER,
    "weights.norm_2.beta": NORM_OF_A_LAYER + "|is all zero",
}
VALUES_OF: Mapping[str, Mapping[str, str]] = {
    "softmax": {"x": LOGITS},
    "scaled_dot_product_attention": ATTENTION_VALUES,
    "grouped_query_attention": ATTENTION_VALUES,
    "attention_weights": {name: ATTENTION_VALUES[name] for name in ("query", "key", "bias", "sinks")},
    "single_head_attention": {"x": VECTOR, **dict.fromkeys(("weights.w_q", "weights.w_k", "weights.w_v"), WEIGHT)},
    "scaled_dot_product_attention_backward": {"query": QUERY, "key": QUERY, "value": QUERY, "grad_output": ANY},
    "multi_head_attention": {
        "x": VECTOR,
        "context": VECTOR,
        "weights.w_q": WEIGHT,
        "weights.w_o": WEIGHT,
        "weights.b_q": BIAS,
        "weights.b_k": BIAS,
        "weights.b_v": BIAS,
        "weights.b_o": BIAS,
    },
    "rotary_embedding": {"x": VECTOR + "|has an entry of 1e30"},
    "layer_norm": {"x": VECTOR, "gamma": GAIN, "beta": SHIFT},
    "rms_norm": {"x": VECTOR, "gamma": GAIN},
    "token_embedding": {"table": VECTOR + "|has an entry of 1e30"},
    "cross_entropy": {"logits": LOGITS},
    "gelu": {"x": LOGITS},
    "silu": {"x": LOGITS},
    "feed_forward": {
        "x": VECTOR,
        "weights.w_1": WEIGHT,
        "weights.w_2": WEIGHT,
        "weights.b_1": BIAS,
        "weights.b_2": BIAS,
    },
    "gated_feed_forward": {
        "x": VECTOR,
        "weights.w_gate": WEIGHT,
        "weights.w_up": WEIGHT,
        "weights.w_down": WEIGHT,
    },
    "merge_attention": {
        "output_a": VECTOR + "|has an entry of 1e30",
        "output_b": VECTOR,
        "lse_a": LOGITS + "|has −∞",
        "lse_b": "has −∞|has a zero",
    },
    "encoder_layer": LAYER_VALUES,
    "decoder_layer": {**LAYER_VALUES, "memory": LAYER_VALUES["x"], "weights.norm_3.gamma": NORM_OF_A_LAYER},
    "encoder": {"weights.embedding": "has a zero|is not contiguous|has a negative entry"},
    "language_model": {"weights.embedding": "has a zero|is not contiguous|has a negative entry"},
    "merge_attention_backward": {
        "output_a": VECTOR_BACK,
        "output_b": VECTOR_BACK,
        "lse_a": VECTOR_BACK + "|has −∞|has an entry below −88",
        "grad_output": VECTOR_BACK,
        "grad_lse": VECTOR_BACK,
    },
    "attention_weights_backward": {"query": QUERY, "key": QUERY, "grad_output": VECTOR_BACK},
    "attention_bias_backward": {
        "query": QUERY,
        "key": QUERY,
        "value": QUERY,
        "grad_output": VECTOR_BACK,
        "bias": ATTENTION_VALUES["bias"],
    },
    "attention_sinks_backward": {
        "query": QUERY,
        "key": QUERY,
        "value": QUERY,
        "grad_output": VECTOR_BACK,
        "sinks": ATTENTION_VALUES["sinks"],
    },
    "next_token_loss": {"logits": LOGITS},
    "next_token_loss_backward": {"logits": LOGITS},
    "feed_forward_backward": {
        "x": VECTOR_BACK,
        "grad_output": VECTOR_BACK,
        "weights.w_1": WEIGHT,
        "weights.w_2": WEIGHT,
        "weights.b_1": BIAS,
        "weights.b_2": BIAS,
    },
    "gated_feed_forward_backward": {
        "x": VECTOR_BACK,
        "grad_output": VECTOR_BACK,
        "weights.w_gate": WEIGHT,
        "weights.w_up": WEIGHT,
        "weights.w_down": WEIGHT,
    },
    "dropout": {"x": VECTOR},
    "dropout_backward": {"x": EVERY_SIGN, "grad_output": VECTOR},
    "adamw_step": {
        "parameter": VECTOR_BACK,
        "gradient": VECTOR_BACK,
        "first_moment": "has a negative entry|has a zero|is all zero|is all positive|is not contiguous",
        "second_moment": "has a zero|is all zero|is all positive|is not contiguous|has an entry above 88",
    },
}


def _of_array(name: str, test: Test, call: Call) -> bool:
    array = call.array(name)
    if array is None:
        return False
    with np.errstate(all="ignore"):
        return test(array)


def one_array(first: str, second: str) -> tuple[str, Callable[[Call], bool]]:
    """Return the condition that two arguments are one array, or are as if they were."""
    return f"{first} is {second}", partial(_are_one, first, second)


def _are_one(first: str, second: str, call: Call) -> bool:
    left, right = call.array(first), call.array(second)
    return left is not None and right is not None and np.shares_memory(left, right)


def same_numbers(first: str, second: str) -> tuple[str, Callable[[Call], bool]]:
    """Return the condition that two arguments have the same numbers."""
    return f"{first} equals {second}", partial(_same_numbers, first, second)


def _same_numbers(first: str, second: str, call: Call) -> bool:
    left, right = call.array(first), call.array(second)
    return left is not None and right is not None and np.array_equal(left, right)


_QKV = (("query", "key"), ("key", "value"), ("query", "value"))
ALIKE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "scaled_dot_product_attention": _QKV,
    "grouped_query_attention": _QKV,
    "attention_weights": _QKV[:1],
    "scaled_dot_product_attention_backward": (*_QKV, ("value", "grad_output")),
    "single_head_attention": (("weights.w_q", "weights.w_k"), ("weights.w_k", "weights.w_v")),
    "multi_head_attention": (("x", "context"),),
    "decoder_layer": (("x", "memory"),),
    "encoder_decoder": (("source", "target"),),
    "merge_attention": (("output_a", "output_b"), ("lse_a", "lse_b")),
    "layer_norm": (("gamma", "beta"),),
    "merge_attention_backward": (("output_a", "output_b"), ("lse_a", "lse_b"), ("output_a", "grad_output")),
    "attention_weights_backward": (("query", "key"),),
    **dict.fromkeys(("attention_bias_backward", "attention_sinks_backward"), (*_QKV, ("value", "grad_output"))),
    **dict.fromkeys(("feed_forward_backward", "gated_feed_forward_backward"), (("x", "grad_output"),)),
    "adamw_step": (("parameter", "gradient"), ("gradient", "first_moment"), ("first_moment", "second_moment")),
}
DTYPES_OF = {"token_embedding": "table", "cross_entropy": "logits", "merge_attention": "output_a"}


def _is_double(name: str, call: Call) -> bool:
    array = call.array(name)
    return array is not None and array.dtype == np.float64


def conditions_of_values() -> Iterator[Condition]:
    """Return all conditions on values, on memory and on the dtype."""
    for operation, arguments in VALUES_OF.items():
        for argument, text in arguments.items():
            for word in text.split("|"):
                yield Condition(operation, "value", f"{argument} {word}", partial(_of_array, argument, FLOATS[word]))
        first = DTYPES_OF.get(operation, next(iter(arguments)))
        yield Condition(operation, "dtype", "float64", partial(_is_double, first))
    for operation, pairs in ALIKE.items():
        for pair in pairs:
            yield Condition(operation, "one array", *one_array(*pair))
            yield Condition(operation, "one array", *same_numbers(*pair))
