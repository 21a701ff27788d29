"""The arrays of initial weights by their dotted names: which are projections, and which variance they should have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.models.trees import arrays_by_path

# Arrays by their dotted names: "layers.0.self_attention.w_q".
Arrays = Mapping[str, Array]
NAMES = ("initial_deviation", "initial_residual", "initial_bias")


@lru_cache(maxsize=64)
def shapes_of(config: reference.TransformerConfiguration) -> Mapping[str, Shape]:
    """Return the shape of each array of the weights, in the order of their records."""

    def without_memory(_: str, shape: Shape) -> Array:
        return np.broadcast_to(np.zeros(()), shape)

    return {path: array.shape for path, array in arrays_by_path(reference.weight_tree(config, without_memory)).items()}


def name_of(path: str) -> str:
    """Return the last part of a dotted name: "w_q"."""
    return path.rpartition(".")[2]


def is_projection(path: str) -> bool:
    """Return whether an array is a matrix that vectors are multiplied by, so that it has inputs and outputs."""
    return name_of(path).startswith("w_") or path == "unembedding"


def is_table(path: str) -> bool:
    """Return whether an array has a row for each token or each position."""
    return path in ("embedding", "positions")


def is_bias(path: str) -> bool:
    """Return whether an array is the bias of a projection."""
    return name_of(path).startswith("b_")


def projections(arrays: Arrays) -> dict[str, Array]:
    """Return the projections among some arrays."""
    return {path: array for path, array in arrays.items() if is_projection(path)}


def layer_of(path: str) -> int:
    """Return the number of the layer that an array is in, 0 where it is in none."""
    return int(path.split(".")[1]) if path.startswith("layers.") else 0


def variance(path: str, config: reference.TransformerConfiguration, conventions: Conventions) -> float:
    """Return the variance that the entries of a projection have under conventions."""
    return reference.initial_variance(
        name_of(path),
        shapes_of(config)[path],
        config,
        layer=layer_of(path),
        initial_deviation=conventions["initial_deviation"],
        initial_residual=conventions["initial_residual"],
    )


def reference_arrays(config: reference.TransformerConfiguration, seed: int, conventions: Conventions) -> Arrays:
    """Return the weights that the reference draws under conventions."""
    chosen = {name: conventions[name] for name in NAMES}
    return arrays_by_path(reference.initial_weights(config, seed=seed, **chosen))


def heads_of(layer: int, arrays: Arrays, config: reference.TransformerConfiguration) -> dict[str, Array]:
    """Return the part of each head of a layer's projections, E D entries in one row, by its name; first to last."""
    width = config.d_model // config.num_heads
    found: dict[str, Array] = {}
    for name in (f"layers.{layer}.self_attention.w_{letter}" for letter in "qkvo"):
        if name in arrays:
            # Outputs as queries, keys and values are: a row for each component of the model.
            matrix = arrays[name].T if name.endswith("w_o") else arrays[name]
            heads = matrix.reshape(config.d_model, -1, width).transpose(1, 0, 2)
            found |= {f"head {place} of {name}": head.ravel() for place, head in enumerate(heads)}
    return found
