"""Which of the weights that a call drew are explained by chance, under conventions.

What is not explained is replaced by other weights, so that it differs from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.initialisation.arrays import (
    Arrays,
    heads_of,
    is_bias,
    is_projection,
    name_of,
    projections,
    reference_arrays,
    variance,
)
from veriformer.conformance_tests.operations.initialisation.chance import (
    FALSE_ALARM,
    ROUNDED,
    in_common,
    largest_mean,
    mean_square,
)

# The seed of what stands where chance does not explain what was drawn.
_OTHER_SEED = 1_000_003


def others(config: reference.TransformerConfiguration, seed: int, conventions: Conventions) -> Arrays:
    """Return weights that differ from those of every seed that a case has."""
    return reference_arrays(config, seed + _OTHER_SEED, conventions)


def explained(drawn: Arrays, config: reference.TransformerConfiguration, seed: int, conventions: Conventions) -> Arrays:
    """Return the weights that were drawn where the conventions and chance explain them, and others elsewhere."""
    other = others(config, seed, conventions)
    found: dict[str, Array] = {}
    for path, array in drawn.items():
        if is_projection(path):
            found[path] = array if centred(array, variance(path, config, conventions)) else other[path]
        elif is_bias(path):
            inputs = reference.bias_inputs(name_of(path), config)
            uniform = conventions["initial_bias"] == "uniform"
            found[path] = (array if small(array, inputs) else other[path]) if uniform else np.zeros(array.shape)
        elif name_of(path) in ("gamma", "beta"):
            found[path] = np.full(array.shape, 1.0 if name_of(path) == "gamma" else 0.0)
        else:
            found[path] = array
    variances = {path: variance(path, config, conventions) for path in projections(found)}
    return apart(found, variances, config, other)


def centred(array: Array, expected: float, alarm: float = FALSE_ALARM) -> bool:
    """Return whether chance explains the mean and the mean square of entries of a variance."""
    if not np.isfinite(array).all() or (expected == 0.0 and array.any()):
        return False
    mean, square = float(array.mean()), float(np.square(array).mean())
    within = abs(mean) <= largest_mean(array.size, expected, alarm)
    return bool(within and square in mean_square(array.size, alarm).times(expected))


def small(array: Array, inputs: int) -> bool:
    """Return whether a bias is one of uniform numbers of up to 1/√n_in."""
    bound = (1.0 + ROUNDED) / sqrt(inputs)
    return bool((np.abs(array) <= bound).all()) and centred(array, 1.0 / (3.0 * inputs))


def apart(
    arrays: Arrays, variances: Mapping[str, float], config: reference.TransformerConfiguration, other: Arrays
) -> Arrays:
    """Return the arrays with others in place of what has more in common than chance explains: heads, and projections.

    Of two projections the later one is replaced.
    """
    found = dict(arrays)
    scaled = {path: array / sqrt(variances[path] or 1.0) for path, array in projections(arrays).items()}
    for layer in range(config.num_layers):
        heads = heads_of(layer, scaled, config)
        for path in _later(heads):
            found[path.rpartition(" ")[2]] = other[path.rpartition(" ")[2]]
    for paths in of_one_size(arrays):
        for path in _later({path: scaled[path].ravel() for path in paths}):
            found[path] = other[path]
    return found


def _later(rows: Arrays) -> list[str]:
    """Return the names of the rows, of variance 1, that have something in common with one before."""
    if len(rows) < 2:
        return []
    shares = in_common(np.stack(list(rows.values())), np.ones(len(rows)))
    columns = {int(column) for column in np.nonzero(shares > 1.0)[1]}
    return [name for place, name in enumerate(rows) if place in columns]


def of_one_size(arrays: Arrays) -> list[list[str]]:
    """Return the names of the projections that have equally many entries, of each number that several have."""
    groups: dict[int, list[str]] = {}
    for path, array in projections(arrays).items():
        groups.setdefault(array.size, []).append(path)
    return [paths for paths in groups.values() if len(paths) > 1]
