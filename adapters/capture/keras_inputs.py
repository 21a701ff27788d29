"""Inputs of a Keras model that declares them, as the functional ones and those of layers in a row do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
from veriformer.adapters.capture.inputs import Candidate, Shape, Sizes, filled_by_name
from veriformer.adapters.capture.vocabulary import vocabulary
from veriformer.adapters.capture.weights import Array


def declared_inputs(model: Any, shapes: Mapping[str, Shape], sizes: Sizes) -> Iterator[Candidate]:
    """Yield inputs of the shapes and dtypes that a model declares; none where it declares none.

    `shapes` are those of its parameters. A size that is left open is that of the batch, or the length.
    """
    declared = getattr(model, "_inputs_struct", None)
    declared = getattr(model, "inputs", None) if declared is None else declared
    if declared is None:
        return
    generator, rows = np.random.default_rng(0), vocabulary(shapes)
    described = []

    def filled(tensor: Any) -> Array:
        shape = tuple(
            size if size is not None else sizes.length if axis else sizes.batch
            for axis, size in enumerate(tensor.shape)
        )
        dtype = np.dtype(keras.backend.standardize_dtype(tensor.dtype))
        described.append(f"{tensor.name} {shape}")
        return filled_by_name(tensor.name, shape, dtype, rows, generator)

    arrays = keras.tree.map_structure(filled, declared)
    yield Candidate(f"inputs as the model declares them, {', '.join(described)}", _as_one_argument(arrays))


def _as_one_argument(arrays: Any) -> tuple[Any, ...]:
    """Return the arguments of a call: a model takes all its inputs as one, a single input without its list."""
    return tuple(arrays) if isinstance(arrays, list | tuple) and len(arrays) == 1 else (arrays,)
