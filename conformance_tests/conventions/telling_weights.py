"""Weights under which the values of a convention lie far apart, and little that else may be wrong has an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype

Change = Callable[[Array], Array]

# The forms of GELU differ most, beside what they are, where they are small: about −2.8, by a tenth.
_LEAST, _MOST = -3.5, -2.25
_HARDLY = 0.125
# So many times what the network adds to the stream, which would hide it otherwise.
_LOUD = 256.0


def with_arrays(tree: Any, changes: Mapping[str, Change]) -> Any:
    """Return a tree of weights in which every array of these names is changed."""
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{entry.name: _changed(tree, entry.name, changes) for entry in fields(tree)})
    return [with_arrays(part, changes) for part in tree] if isinstance(tree, list | tuple) else tree


def _changed(tree: Any, name: str, changes: Mapping[str, Change]) -> Any:
    value = getattr(tree, name)
    if isinstance(value, np.ndarray):
        return changes[name](value) if name in changes else value
    return with_arrays(value, changes)


SILENT_ATTENTION: Mapping[str, Change] = {"w_o": np.zeros_like, "b_o": np.zeros_like}
SILENT_NETWORK: Mapping[str, Change] = {"w_2": np.zeros_like, "b_2": np.zeros_like, "w_down": np.zeros_like}


def telling_gelu(tree: Any, dtype: str) -> Any:
    """Return weights of layers that do nothing but their networks, whose activations are small and negative.

    There the erf form and the tanh form differ by a tenth of what they are. What attention does has no effect.
    """
    return with_arrays(
        tree,
        {
            **SILENT_ATTENTION,
            "w_1": lambda array: _HARDLY * array,
            "b_1": lambda array: round_to_dtype(np.linspace(_LEAST, _MOST, len(array)), dtype),
            "w_2": lambda array: _LOUD * array,
        },
    )
