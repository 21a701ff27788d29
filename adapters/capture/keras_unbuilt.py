"""Weights for a Keras layer that has none yet: Keras makes them at the first call, by the shapes that it is given.

A call that fails may leave a layer with half of its weights, so that each is tried on a twin of the same configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import keras
import numpy as np
from veriformer.adapters.capture.guessed_sizes import WIDTH
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.inputs import arguments_of
from veriformer.adapters.capture.weights import Array

_BATCH, _LENGTH = 2, 11
# Heads of half this width can be turned in part.
_WIDER = 32
_IMAGE = (_BATCH, 16, 16, 3)
_WIDTHS = ("d_model", "dim", "embed_dim", "hidden_size", "hidden_dim", "width", "units", "features")


def give_weights(layer: Any, given: Arguments | None) -> None:
    """Call a layer without weights on what was handed over, else on the first inputs that a twin of it takes.

    It stays as it is where none fit. What the call of inputs that were handed over raises comes again in the record.
    """
    if given is not None:
        with suppress(Exception):
            layer(*given[0], **given[1])
        return
    for positional in _first_inputs(layer):
        twin = _twin(layer)
        if twin is None:
            return
        try:
            twin(*positional)
        except Exception:
            # Whatever its code raises on inputs that it is not written for.
            continue
        if twin.built:
            layer(*positional)
            return


def _twin(layer: Any) -> Any:
    """Return a layer of the same class and configuration without weights; None where its configuration is unknown."""
    try:
        return type(layer).from_config(layer.get_config())
    except Exception:
        return None


def _first_inputs(layer: Any) -> Iterator[tuple[Array, ...]]:
    """Yield inputs for a first call: vectors and tokens, these first for a layer with a table, then images."""
    count = max(sum(one.default is one.empty for one in arguments_of(layer.call)), 1)
    tokens = np.arange(_BATCH * _LENGTH).reshape(_BATCH, _LENGTH) % 2
    vectors = [
        np.random.default_rng(0).normal(size=(_BATCH, _LENGTH, width)).astype("float32") for width in _widths(layer)
    ]
    looks_up = any(isinstance(one, keras.layers.Embedding) for one in layer._flatten_layers())
    for array in (tokens, *vectors) if looks_up else (*vectors, tokens):
        yield (array,) * count
    yield (np.random.default_rng(0).normal(size=_IMAGE).astype("float32"),)


def _widths(layer: Any) -> list[int]:
    """Return the widths that vectors for a layer may have: those that its configuration names, or the guessed one."""
    try:
        stated = layer.get_config()
    except Exception:
        stated = {}
    return list(dict.fromkeys([stated[one] for one in _WIDTHS if isinstance(stated.get(one), int)] + [WIDTH, _WIDER]))
