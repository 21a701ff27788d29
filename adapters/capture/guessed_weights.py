"""Weights for a class of NumPy whose constructor takes them, guessed by the names of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_SQUARE, _ONTO_HIDDEN, _FROM_HIDDEN, _FUSED = ("E", "E"), ("E", "F"), ("F", "E"), ("E", "3E")


def _each(names: str, shape: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names.split(), shape)


_SHAPES: Mapping[str, tuple[str, ...]] = {
    **_each("wq wk wv wo wout wproj wquery wkey wvalue wqueries wkeys wvalues woutput", _SQUARE),
    **_each("qproj kproj vproj oproj outproj qweight kweight vweight oweight", _SQUARE),
    **_each("wqkv qkv qkvweight inproj inprojweight cattn", _FUSED),
    **_each("w1 wgate wup w3 wfc fc1 win gateproj upproj", _ONTO_HIDDEN),
    **_each("w2 wdown fc2 downproj", _FROM_HIDDEN),
    **_each("bq bk bv bo bout bproj b2 beta gamma gain shift", ("E",)),
    **_each("bqkv", ("3E",)),
    **_each("b1 bgate bup b3", ("F",)),
}
_SEED = 7


def weights_called(name: str, width: int, hidden: int) -> Any:
    """Return random weights for a parameter of this name, for vectors of a width; None where it names no weights."""
    shape = _SHAPES.get(name.replace("_", "").casefold())
    if shape is None:
        return None
    lengths = {"E": width, "F": hidden, "3E": 3 * width}
    numbers = np.random.default_rng([_SEED, *name.encode()]).standard_normal([lengths[one] for one in shape])
    return numbers / np.sqrt(width) if len(shape) == len(_SQUARE) else numbers
