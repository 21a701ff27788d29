"""Weights in one argument: a mapping, or an object with attributes, whose keys are as strangers spell them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from veriformer.adapters.matching.names import words_of
from veriformer.adapters.matching.namespaces import chosen, reshaped, shape_of, transposed

NAMES = ("params", "parameters", "weights", "theta", "prm", "prms", "param", "p", "wts")
"""What such an argument is called."""
FIRST = frozenset({*NAMES, "w", "variables", "layer", "block"})
"""What functions of weights and inputs call it where it comes first."""
LISTED = frozenset({"layers", "blocks", "layer_params", "block_params", "layer_weights", "stack"})
"""What they call it where it is a list, with the weights of each layer."""
_MAKING = frozenset({"init", "initialize", "initialise", "make", "create", "random", "new", "initial"})


def makes_weights(name: str) -> bool:
    """Return whether a function's name says that it makes weights: `init`, `init_block`, `makeParams`."""
    words = words_of(name)
    return bool(words) and (words[0] in _MAKING or words[-1] == "init")


class Held(dict[str, Any]):
    """A dictionary that finds a key by each of its spellings; it has what it holds as attributes too."""

    def __missing__(self, name: str) -> Any:
        """Return what is held under another spelling of a name."""
        for key in self:
            if _folded(key) == _folded(name):
                return self[key]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(_folded(key) == _folded(str(name)) for key in self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return what is held under a name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def held(weights: Any, members: Mapping[str, str], *, turned: bool, heads: int = 0) -> Any:
    """Return the members of weights by all names that are known for them; `turned` has matrices transposed.

    A bias that the weights lack is zero. Arrays of JAX come in a plain dictionary, since only that can be compiled.
    With a number of `heads` each has an axis of them, as in (E, H, D) and (H, D, E).
    """
    found: dict[str, Any] = {}
    for member, names in members.items():
        value = value_of(weights, member)
        if turned and len(shape_of(value)) == 2:
            value = transposed(value, (1, 0))
        if heads:
            value = _by_head(member, value, shape_of(weights.w_q)[-1] // heads)
        for name in (member, *names.split()):
            found.setdefault(name, value)
    if "jax" in type(next(iter(found.values()))).__module__:
        return {spelling: value for name, value in found.items() for spelling in _spellings(name)}
    return Held(found)


def as_record(weights: Any, kind: type | None) -> Any:
    """Return weights as a named tuple or a dataclass whose fields they have; themselves where it has others."""
    if kind is None:
        return weights
    try:
        return kind(**{name: weights[name] for name in inspect.signature(kind).parameters})
    except (KeyError, TypeError, ValueError):
        return weights


def _by_head(member: str, value: Any, width: int) -> Any:
    """Return a weight of an attention with an axis of heads of a width."""
    shape = shape_of(value)
    if member == "w_o":
        return reshaped(value, (shape[0] // width, width, shape[1]))
    return value if member == "b_o" else reshaped(value, (*shape[:-1], shape[-1] // width, width))


def value_of(weights: Any, member: str) -> Any:
    """Return a member of weights; zeros for a bias that they lack."""
    value = getattr(weights, member)
    if value is None:
        row = getattr(weights, f"w_{member.removeprefix('b_')}")[0]
        value = chosen(row == row, 0.0, 0.0, row)
    return value


def _spellings(name: str) -> Iterator[str]:
    parts = name.partition("_")[::2] if "_" in name else (name[:1], name[1:])
    for joined in (name, name.replace("_", ""), f"{parts[0]}_{parts[1]}"):
        yield joined
        yield joined.upper()
        yield joined[:1].upper() + joined[1:]


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()
