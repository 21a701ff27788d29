"""Weights: any object or mapping of NumPy arrays, handed over as a plain object with attributes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

# Whole models have hundreds of arrays in each call: what does not change is not made anew for each.
_LEFT_AS_THEY_ARE = (bool, int, float, str)
_SEQUENCES = (list, tuple)


def convert_weights(weights: object, convert: Callable[[np.ndarray], Any]) -> Any:
    """Return an object with the same attributes, each array converted; None, numbers and names stay.

    Groups of weights inside (an object or a mapping) are converted likewise, and so are lists of them: layers. A list
    of arrays becomes a list.
    """
    if isinstance(weights, list):
        return _converted(weights, convert)
    return SimpleNamespace(**{name: _converted(value, convert) for name, value in _members(weights)})


def plain_weights(weights: object) -> Any:
    """Return a plain object with the same attributes and the same arrays; a list of arrays stays one."""
    return convert_weights(weights, lambda array: array)


def converted(value: object, is_array: Callable[[Any], bool], convert: Callable[[Any], Any]) -> Any:
    """Return an argument as it was handed over, with every array of it converted."""
    if is_array(value):
        return convert(value)
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: converted(inner, is_array, convert) for name, inner in vars(value).items()})
    if isinstance(value, list):
        return [converted(inner, is_array, convert) for inner in value]
    return value


def arrays_in(name: str, value: object, is_array: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yield every array of an argument with its dotted name: "query", "weights.w_q", "weights.layers.0.w_1"."""
    if is_array(value):
        yield name, value
    elif isinstance(value, SimpleNamespace):
        for member, inner in vars(value).items():
            yield from arrays_in(f"{name}.{member}", inner, is_array)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from arrays_in(f"{name}.{place}", inner, is_array)


def names_like(name: str, argument: object, is_array: Callable[[Any], bool]) -> list[str]:
    """Return the dotted name of each array of a record called `name`, which is like an argument.

    Like weights it has an array for each of theirs; like a configuration, those of a model with it.
    """
    if hasattr(argument, "vocabulary_size"):
        return [f"{name}.{path}" for path in names_in_configuration(argument)]
    return [path for path, _ in arrays_in(name, argument, is_array)]


def names_in_configuration(config: Any) -> list[str]:
    """Return the dotted names of the weights of a language model or an encoder, in the order of their records."""
    norm = ["gamma"] if config.norm == "rms_norm" else ["gamma", "beta"]
    biases = [f"b_{name}" for name in "qkvo"] if config.biases else []
    attention = [*(f"w_{name}" for name in "qkvo"), *biases]
    network = ["w_1", "w_2", *(["b_1", "b_2"] if config.biases else [])]
    network = ["w_gate", "w_up", "w_down"] if config.gated else network
    parts = {"self_attention": attention, "norm_1": norm, "feed_forward": network, "norm_2": norm}
    layer = [f"{part}.{member}" for part, members in parts.items() for member in members]
    has_logits = config.architecture != "bert" and not config.tied_embedding
    return [
        "embedding",
        *(["positions"] if config.positions == "learned" else []),
        *(f"embedding_norm.{member}" for member in norm if config.embedding_norm),
        *(f"layers.{number}.{path}" for number in range(config.num_layers) for path in layer),
        *(f"final_norm.{member}" for member in norm if config.final_norm),
        *(["unembedding"] if has_logits else []),
    ]


def member_at(record: object, path: str) -> Any:
    """Return what a record, a mapping or a list has at a dotted name: "w_q", "layers.0.w_1"; None if there is none."""
    for name in path.split("."):
        if isinstance(record, list | tuple) and name.isdecimal():
            record = record[int(name)] if int(name) < len(record) else None
        elif isinstance(record, Mapping):
            record = record.get(name)
        else:
            record = getattr(record, name, None)
    return record


def _converted(value: object, convert: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return convert(value)
    if value is None or isinstance(value, _LEFT_AS_THEY_ARE):
        return value
    # A named tuple is a group with names, any other sequence one of layers.
    if isinstance(value, _SEQUENCES) and not hasattr(value, "_fields"):
        return [_converted(item, convert) for item in value]
    return convert_weights(value, convert)


@cache
def _names_of(record: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a class of records."""
    return tuple(field.name for field in fields(cast(Any, record)))


def _members(weights: object) -> list[tuple[str, Any]]:
    if isinstance(weights, Mapping):
        return [(str(name), value) for name, value in weights.items()]
    if is_dataclass(weights):
        return [(name, getattr(weights, name)) for name in _names_of(cast(Hashable, type(weights)))]
    if hasattr(weights, "_fields"):
        return [(name, getattr(weights, name)) for name in weights._fields]
    if hasattr(weights, "__dict__"):
        return list(vars(weights).items())
    raise TypeError(f"weights are an object with attributes or a mapping, not {type(weights).__name__}")
