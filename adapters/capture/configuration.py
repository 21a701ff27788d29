"""What a model says of itself: the numbers and words of its configuration, and of the arguments that it has kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

Plain = bool | int | float | str

# Where people keep the arguments that a model was built with.
_HOLDERS = ("config", "cfg", "conf", "args", "hparams", "hps", "hp", "options", "params")
# A configuration of a model of images and text has one of each inside, and each its parameters of rotations.
_DEEPEST = 3


def configuration_of(found: object) -> dict[str, Plain]:
    """Return what a model states, by where it stands: "config.rope_theta", "num_heads"; empty where it states nothing.

    Reading a configuration may run code of the user's, and whatever that raises is nothing that is stated.
    """
    own = {name: value for name, value in _members(found).items() if _is_plain(value)}
    for holder in _HOLDERS:
        try:
            held = getattr(found, holder, None)
        except Exception:
            continue
        own |= {f"{holder}.{name}": value for name, value in _flat(held, 1)}
    return own


def _flat(held: Any, depth: int) -> Iterator[tuple[str, Plain]]:
    for name, value in _members(held).items():
        if _is_plain(value):
            yield name, value
        elif depth < _DEEPEST:
            yield from ((f"{name}.{inner}", one) for inner, one in _flat(value, depth + 1))


def _members(held: Any) -> dict[str, Any]:
    """Return what is in a dictionary or in the attributes of an object, but for what is private."""
    try:
        members = _as_mapping(held)
    except Exception:
        return {}
    return {name: value for name, value in members.items() if isinstance(name, str) and not name.startswith("_")}


def _as_mapping(held: Any) -> Mapping[Any, Any]:
    if isinstance(held, Mapping):
        return held
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        return {one.name: getattr(held, one.name, None) for one in dataclasses.fields(held)}
    # A class that holds constants is a configuration too.
    return dict(vars(held)) if hasattr(held, "__dict__") else {}


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)
