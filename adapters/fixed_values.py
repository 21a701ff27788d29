"""Sizes and settings that an implementation has one value of: what it declares in `fixed_values`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from veriformer.adapters.errors import LoadError
from veriformer.adapters.spelling import listing, suggestion
from veriformer.spec.operations import OPERATIONS

FixedValue = bool | int | float | str

_NORMS = ("layer_norm", "rms_norm")
_NETWORKS = ("feed_forward", "gated_feed_forward")
_LAYERS = ("encoder_layer", "decoder_layer")
_MULTI_HEAD = ("multi_head_attention",)
_ATTENTION = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights", *_MULTI_HEAD)
_ACTIVATIONS = ("relu", "gelu", "silu")


@dataclass(frozen=True)
class Fixable:
    """Something that an operation may have one value of: its meaning, the values it takes, and the operations."""

    meaning: str
    takes: str
    operations: tuple[str, ...]


FIXABLE: Mapping[str, Fixable] = MappingProxyType(
    {
        "d_model": Fixable(
            "E, the width of the model",
            "a positive integer",
            (*_NORMS, *_NETWORKS, *_MULTI_HEAD, *_LAYERS, "token_embedding"),
        ),
        "num_heads": Fixable("H, the number of query heads", "a positive integer", (*_MULTI_HEAD, *_LAYERS)),
        "num_kv_heads": Fixable("G, the number of key/value heads", "a positive integer", _MULTI_HEAD),
        "d_ff": Fixable("F, the hidden width of the network", "a positive integer", (*_NETWORKS, *_LAYERS)),
        "vocabulary_size": Fixable("N, the number of tokens", "a positive integer", ("token_embedding",)),
        "max_length": Fixable(
            "the largest L and S; shorter ones are drawn too",
            "a positive integer",
            (*_ATTENTION, *_LAYERS, "token_embedding"),
        ),
        "eps": Fixable("the eps of norms", "a positive float, such as 1e-5", (*_NORMS, *_LAYERS)),
        "activation": Fixable("the activation", f"one of {listing(_ACTIVATIONS)}", (*_NETWORKS, *_LAYERS)),
        "is_causal": Fixable("attention is always causal, and has the keyword", "True", _ATTENTION),
    }
)


def read_fixed_values(received: object, name: str, operations: Mapping[str, Any]) -> Mapping[str, FixedValue]:
    """Return what is declared to have one value; LoadError for an unknown name, or a value that cannot be."""
    if not isinstance(received, Mapping):
        raise LoadError(
            f"{name}: fixed_values is a {type(received).__name__}; set it to a mapping from a size or setting to its "
            'value, for example {"d_model": 512, "num_heads": 8}'
        )
    for key, value in received.items():
        _check(key, value, name, operations)
    return MappingProxyType(dict(received))


def _check(key: object, value: object, name: str, operations: Mapping[str, Any]) -> None:
    if not isinstance(key, str):
        raise LoadError(f"{name}: fixed_values has the key {key!r}; the keys are names, as strings")
    operation, dot, fixed = key.rpartition(".")
    if dot and operation not in operations:
        hint = suggestion(operation, operations) or f"; known are {listing(operations)}"
        raise LoadError(f"{name}: fixed_values has {key!r}, but {operation!r} is not an operation{hint}")
    if fixed not in FIXABLE:
        hint = suggestion(fixed, FIXABLE) or f"; known are {listing(FIXABLE)}"
        raise LoadError(f"{name}: fixed_values has {key!r}, but no size or setting is called {fixed!r}{hint}")
    if dot and operation not in FIXABLE[fixed].operations:
        raise LoadError(
            f"{name}: fixed_values has {key!r}, but {operation} has no {fixed}; it is one of "
            f"{listing(FIXABLE[fixed].operations)}"
        )
    if not _is_taken(fixed, value):
        raise LoadError(f"{name}: fixed_values[{key!r}] is {value!r}; set it to {FIXABLE[fixed].takes}")


def _is_taken(fixed: str, value: object) -> bool:
    if fixed == "activation":
        return value in _ACTIVATIONS
    if fixed == "is_causal":
        return value is True
    if fixed == "eps":
        return isinstance(value, float) and math.isfinite(value) and value > 0
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def fixed_of(operation: str, fixed: Mapping[str, FixedValue]) -> dict[str, FixedValue]:
    """Return what an operation has one value of, by name: its own entry, else the general one.

    A backward pass has the values of the operation that it goes back through.
    """
    own = OPERATIONS[operation].forward or operation
    found = {name: fixed.get(f"{own}.{name}", fixed.get(name)) for name in FIXABLE}
    return {name: value for name, value in found.items() if value is not None and own in FIXABLE[name].operations}


def refuse_unlike(name: str, operation: str, found: Mapping[str, FixedValue]) -> None:
    """Raise LoadError where sizes that are fixed together do not fit each other: H divides E, and G divides H."""
    for whole, part in (("d_model", "num_heads"), ("num_heads", "num_kv_heads")):
        if whole in found and part in found and int(found[whole]) % int(found[part]):
            raise LoadError(
                f"{name}: fixed_values has {whole} = {found[whole]} and {part} = {found[part]} for {operation}; "
                "the second must divide the first"
            )
