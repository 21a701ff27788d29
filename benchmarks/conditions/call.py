"""One call of an operation as conditions see it: its arguments by name, its sizes by axis, and how many came before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray


_USUAL = {"base": 10000.0, "reduction": "mean"}


@dataclass(frozen=True)
class Call:
    """A call: what it was given, its number (from 1), and what the call before it was given."""

    operation: str
    arguments: Mapping[str, Any]
    number: int = 1
    before: Call | None = field(default=None, repr=False)

    def array(self, name: str) -> Array | None:
        """Return an argument, or a member of one by its path (`weights.b_1`), as an array if it is there."""
        first, *members = name.split(".")
        found = self.arguments.get(first)
        for member in members:
            found = None if found is None else getattr(found, member, None)
        return None if found is None else np.asarray(found)

    def given(self, name: str) -> bool:
        """Return whether an optional argument is there and switched on: neither None, False nor zero."""
        found = self.arguments.get(name)
        # What is given as it would be anyway cannot be told from what is not given.
        if name in _USUAL:
            return found not in (None, _USUAL[name])
        return found is not None and (not np.isscalar(found) or bool(found))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes by their letters."""
        return sizes_of(self)


@dataclass(frozen=True)
class Condition:
    """Something that holds of some calls of an operation. `of_history`: other calls decide it too."""

    operation: str
    kind: str
    name: str
    holds: Callable[[Call], bool] = field(repr=False)
    of_history: bool = False

    def __str__(self) -> str:
        return f"{self.operation}: {self.name}"


_OF_ATTENTION = {
    "B": ("query", 0), "H": ("query", 1), "L": ("query", 2), "S": ("key", 2), "D": ("query", 3), "Dv": ("value", 3),
}  # fmt: skip
# Of each operation, the axes by letter: the argument that has the axis, and where.
AXES: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "softmax": {"n": ("x", -1)},
    "scaled_dot_product_attention": _OF_ATTENTION,
    "grouped_query_attention": {
        "B": ("query", 0), "H": ("query", 1), "G": ("key", 1), "L": ("query", 2), "S": ("key", 2), "D": ("query", 3),
        "Dv": ("value", 3),
    },
    "attention_weights": {"B": ("query", 0), "H": ("query", 1), "L": ("query", 2), "S": ("key", 2), "D": ("query", 3)},
    "scaled_dot_product_attention_backward": _OF_ATTENTION,
    "single_head_attention": {
        "B": ("x", 0), "L": ("x", 1), "S": ("x", 1), "E": ("x", 2), "D": ("weights.w_q", 1), "Dv": ("weights.w_v", 1),
    },
    "multi_head_attention": {"B": ("x", 0), "L": ("x", 1), "S": ("context", 1), "E": ("x", 2)},
    "padding_mask": {"B": ("lengths", 0)},
    "rotary_embedding": {"B": ("x", 0), "H": ("x", 1), "L": ("x", 2), "D": ("x", 3)},
    "layer_norm": {"E": ("x", -1)},
    "rms_norm": {"E": ("x", -1)},
    "gelu": {"n": ("x", -1)},
    "silu": {"n": ("x", -1)},
    "token_embedding": {"B": ("tokens", 0), "L": ("tokens", 1), "N": ("table", 0), "E": ("table", 1)},
    "cross_entropy": {"B": ("logits", 0), "L": ("logits", 1), "N": ("logits", 2)},
    "feed_forward": {"E": ("x", -1), "F": ("weights.w_1", 1)},
    "gated_feed_forward": {"E": ("x", -1), "F": ("weights.w_gate", 1)},
    "merge_attention": {"B": ("output_a", 0), "H": ("output_a", 1), "L": ("output_a", 2), "Dv": ("output_a", 3)},
    "encoder_layer": {"B": ("x", 0), "L": ("x", 1), "E": ("x", 2), "F": ("weights.feed_forward.w_1", 1)},
    "decoder_layer": {
        "B": ("x", 0), "L": ("x", 1), "S": ("memory", 1), "E": ("x", 2), "F": ("weights.feed_forward.w_1", 1),
    },
    "encoder": {"B": ("tokens", 0), "L": ("tokens", 1)},
    "encoder_decoder": {"B": ("source", 0), "S": ("source", 1), "L": ("target", 1)},
    "language_model": {"B": ("tokens", 0), "L": ("tokens", 1)},
    "decode_step": {"B": ("tokens", 0), "T": ("tokens", 1)},
    "model": {"B": ("inputs", 0), "L": ("inputs", 1)},
    "next_token_loss": {"B": ("logits", 0), "L": ("logits", 1), "N": ("logits", 2)},
    "next_token_loss_backward": {"B": ("logits", 0), "L": ("logits", 1), "N": ("logits", 2)},
    "merge_attention_backward": {
        "B": ("output_a", 0), "H": ("output_a", 1), "L": ("output_a", 2), "Dv": ("output_a", 3),
    },
    "attention_weights_backward": {
        "B": ("query", 0), "H": ("query", 1), "L": ("query", 2), "S": ("key", 2), "D": ("query", 3),
    },
    "attention_bias_backward": _OF_ATTENTION,
    "attention_sinks_backward": _OF_ATTENTION,
    "feed_forward_backward": {"E": ("x", -1), "F": ("weights.w_1", 1)},
    "gated_feed_forward_backward": {"E": ("x", -1), "F": ("weights.w_gate", 1)},
    "dropout": {"n": ("x", -1)},
    "dropout_backward": {"n": ("x", -1)},
    "adamw_step": {"n": ("parameter", -1)},
}  # fmt: skip
# Sizes that are arguments of their own.
NUMBERS = {"query_length": "L", "key_length": "S", "max_length": "S", "length": "L", "d_model": "E", "num_heads": "H"}
OF_A_MODEL = {"d_model": "E", "num_heads": "H", "num_kv_heads": "G", "d_ff": "F", "vocabulary_size": "N"}
RANKED = ("softmax", "gelu", "silu", "layer_norm", "rms_norm", "feed_forward", "gated_feed_forward")
RANKED_BACKWARD = ("feed_forward_backward", "gated_feed_forward_backward", "dropout", "dropout_backward")


def forward_of(operation: str) -> str:
    """Return the operation that a backward pass belongs to; of any other operation its own name."""
    return OPERATIONS[operation].forward or operation


def sizes_of(call: Call) -> dict[str, int]:
    """Return the lengths of a call's axes by their letters."""
    found: dict[str, int] = {}
    for letter, (name, axis) in AXES.get(call.operation, AXES.get(forward_of(call.operation), {})).items():
        array = call.array(name)
        if array is not None and array.ndim > axis:
            found[letter] = int(array.shape[axis]) if array.ndim else 1
    if call.operation == "relative_position_bucket":
        distances = np.asarray(call.arguments["relative_position"])
        return {"rank": distances.ndim, "size": distances.size}
    found |= {NUMBERS[name]: int(value) for name, value in call.arguments.items() if name in NUMBERS}
    if (config := call.arguments.get("config")) is not None:
        found |= {letter: int(getattr(config, name)) for name, letter in OF_A_MODEL.items()}
    if "gradients" in call.arguments:
        gradients = call.arguments["gradients"]
        return {"arrays": len(gradients), "entries": sum(np.size(one) for one in gradients)}
    if call.operation in RANKED_BACKWARD or forward_of(call.operation) in RANKED:
        x = np.asarray(call.arguments["x"])
        found |= {"rank": x.ndim, "rows": x.size // max(1, x.shape[-1]) if x.ndim else 1}
    return found | _heads(call, found)


def _heads(call: Call, found: Mapping[str, int]) -> dict[str, int]:
    """Return what projections tell: the key/value heads and the widths of heads."""
    heads = found.get("H")
    if heads is None:
        return {}
    groups = found.get("G") or int(call.arguments.get("num_kv_heads") or heads)
    width = {"D": found["E"] // heads} if "config" in call.arguments or "layer" in call.operation else {}
    weights = call.arguments.get("weights")
    if forward_of(call.operation) == "multi_head_attention" and weights is not None:
        width = {"D": weights.w_q.shape[1] // heads, "Dv": weights.w_v.shape[1] // groups, "G": groups}
    return {**width, "group": heads // groups} if groups != heads or "G" in found or "G" in width else width


def arrays_of(value: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """Return every array of an argument with its path."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from arrays_of(item, f"{name}.{index}")
    else:
        for member, item in _members(value).items():
            yield from arrays_of(item, f"{name}.{member}")


def _members(value: Any) -> Mapping[str, Any]:
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return getattr(value, "__dict__", {}) if type(value).__module__ != "builtins" else {}
