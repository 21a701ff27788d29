"""The family of initial weights, which decides about variances, and about what matrices have in common.

The numbers are those of the call, read off its result, wherever chance explains them at the point's variance; elsewhere
a point has numbers of its own, which are others. So a point has the result of a program if chance explains all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
from veriformer import reference
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.initialisation.arrays import (
    NAMES,
    Arrays,
    is_bias,
    is_projection,
    is_table,
    layer_of,
    name_of,
    projections,
    reference_arrays,
    shapes_of,
)
from veriformer.conformance_tests.operations.initialisation.explaining import apart, centred, others, small
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.reference.initialisation import RESIDUAL_WEIGHTS

Config = reference.TransformerConfiguration
_READING = ("w_q", "w_k", "w_v")
# The variance of a normal number of variance 1 that is drawn again until it is at most 2 away.
_CUT_OFF = 0.7737413


def _of_rule(value: Any) -> Callable[[str, Shape, Config], float]:
    return lambda name, shape, config: reference.initial_variance(name, shape, config, initial_deviation=value)


# Of the name of a projection, its inputs and outputs, and the configuration.
DEVIATION = Decision(
    "deviation",
    "Which variance have the entries of a projection?",
    (
        standard("fan_in", _of_rule("fan_in")),
        convention("fan_in_and_out", _of_rule("fan_in_and_out")),
        convention("packed_fan_in_and_out", _of_rule("packed_fan_in_and_out"), "initial_fans_of_packed_projection"),
        convention("third_of_fan_in", _of_rule("third_of_fan_in")),
        convention("fixed", _of_rule("fixed")),
    ),
    convention="initial_deviation",
)


def _of_one_head(name: str, shape: Shape, config: Config) -> Shape:
    width = config.d_model // config.num_heads
    if name in _READING:
        return (shape[0], width)
    return (width, shape[1]) if name == "w_o" else shape


def _of_three_axes(name: str, shape: Shape, config: Config) -> Shape:
    """Return the inputs and outputs of a matrix with an axis of heads, taken for the kernel of a convolution."""
    width = config.d_model // config.num_heads
    if name in _READING:
        return (shape[1], shape[0] * width)
    return (shape[0], config.num_heads * shape[1]) if name == "w_o" else shape


FANS = Decision(
    "fans",
    "Which inputs and outputs of a projection are counted?",
    (
        standard("own", lambda name, shape, config: shape),
        mistake("initial_fans_exchanged", lambda name, shape, config: shape[::-1]),
        mistake("initial_fans_of_one_head", _of_one_head),
        mistake("initial_fans_of_convolution", _of_three_axes),
        neighbour("width", lambda name, shape, config: (config.d_model,) * 2, "all count as many as the model is wide"),
    ),
)
SPREAD = Decision(
    "spread",
    "What is made of the variance?",
    (
        standard("variance", lambda variance: variance),
        mistake("initial_variance_as_deviation", lambda variance: variance**2),
        mistake("initial_deviation_as_variance", sqrt),
        mistake("initial_deviation_as_bound", lambda variance: variance / 3.0),
        mistake("initial_cut_off_not_made_up_for", lambda variance: variance * _CUT_OFF),
        mistake("initial_weights_zero", lambda variance: 0.0),
        neighbour("doubled", lambda variance: 2.0 * variance, "the variance is doubled, as for ReLU"),
        neighbour("times_three", lambda variance: 3.0 * variance, "the variance is three times too large"),
        neighbour("halved", lambda variance: variance / 2.0, "the variance is halved"),
    ),
)


def _scaling(names: tuple[str, ...], factor: Callable[[int], float]) -> Callable[[str, str, Config], float]:
    """Return the function that multiplies the variance of some projections by one of the number of layers."""
    return lambda path, name, config: factor(config.num_layers) if name in names else 1.0


def _by_layer(path: str, name: str, config: Config) -> float:
    return _by_branches(layer_of(path) + 1) if name in RESIDUAL_WEIGHTS else 1.0


_EVERY = (*_READING, *RESIDUAL_WEIGHTS, "w_1", "w_gate", "w_up", "unembedding")
_FIRST = ("w_1", "w_gate", "w_up")


def _by_branches(layers: int) -> float:
    return 0.5 / layers


# Of the dotted name of a projection, the last part of it, and the configuration.
RESIDUAL = Decision(
    "residual",
    "By what is the variance of the projections multiplied that add to the stream?",
    (
        standard("unscaled", _scaling((), _by_branches), "initial_residual_not_scaled"),
        convention("by_depth", _scaling(RESIDUAL_WEIGHTS, _by_branches), "initial_residual_scaled_without_need"),
        convention("by_layer", _by_layer),
        mistake("initial_residual_scaled_by_layers", _scaling(RESIDUAL_WEIGHTS, lambda layers: 1.0 / layers)),
        mistake("initial_residual_scaled_twice", _scaling(RESIDUAL_WEIGHTS, lambda layers: _by_branches(layers) ** 2)),
        mistake("initial_residual_scale_misplaced", _scaling(("w_v", *_FIRST), _by_branches), "before_instead"),
        mistake("initial_residual_scale_misplaced", _scaling(("w_o", *_FIRST), _by_branches), "first_of_network"),
        mistake("initial_residual_scale_misplaced", _scaling(_READING, _by_branches), "reading_instead"),
        mistake("initial_residual_scaled_everywhere", _scaling(_EVERY, _by_branches)),
        mistake("initial_residual_scaled_in_part", _scaling(("w_o",), _by_branches), "attention_alone"),
        mistake("initial_residual_scaled_in_part", _scaling(RESIDUAL_WEIGHTS[1:], _by_branches), "network_alone"),
        mistake("initial_residual_enlarged", _scaling(RESIDUAL_WEIGHTS, lambda layers: 2.0 * layers)),
    ),
    convention="initial_residual",
)
# Of a gain or a shift.
GAINS = Decision(
    "gains",
    "Where does the gain of a norm start?",
    (
        standard("one", np.ones_like),
        mistake("norm_params_init_wrong", np.zeros_like, "gains_zero"),
        mistake(
            "norm_params_init_wrong",
            lambda array: array if len(set(array)) > 1 else np.zeros_like(array),
            "gains_random",
        ),
    ),
)
SHIFTS = Decision(
    "shifts",
    "Where does the shift of a norm start?",
    (
        standard("zero", np.zeros_like),
        mistake("norm_params_init_wrong", np.ones_like, "shifts_one"),
        mistake(
            "norm_params_init_wrong",
            lambda array: array if len(set(array)) > 1 else np.ones_like(array),
            "shifts_random",
        ),
    ),
)


def _if(condition: bool, array: Array, other: Array) -> Array:
    return array if condition else other


# Of the biases of a projection, other numbers, its inputs, and the variance of its entries.
BIASES = Decision(
    "biases",
    "Where do biases start?",
    (
        standard("zero", lambda array, other, inputs, variance: np.zeros_like(array)),
        convention("uniform", lambda array, other, inputs, variance: _if(small(array, inputs), array, other)),
        mistake(
            "initial_biases_like_weights",
            lambda array, other, inputs, variance: _if(bool(array.any()) and centred(array, variance), array, other),
        ),
        neighbour("one", lambda array, other, inputs, variance: np.ones_like(array), "biases start at one"),
    ),
    convention="initial_bias",
)


@dataclass(frozen=True)
class Found:
    """The arrays at a point, those of the call, others, and the variances of the projections."""

    arrays: Arrays
    drawn: Arrays
    other: Arrays
    variances: Mapping[str, float]
    config: Config

    def derived(self, origin: Callable[[str], str], change: Callable[[str, Array], Array]) -> Arrays:
        """Return the arrays with each projection made from that of its origin; those that are their own are apart."""
        own = {path: self.arrays[path] for path in self.variances if origin(path) == path}
        independent = apart(own, self.variances, self.config, self.other)
        changed = {path: change(path, independent[origin(path)]) for path in self.variances}
        return {**self.arrays, **changed}

    def part(self, path: str, columns: slice, rows: slice) -> Array:
        """Return a part of a projection as it was drawn if chance explains it, else of the other."""
        part = self.drawn[path][rows, columns]
        return part if centred(part, self.variances[path]) else self.other[path][rows, columns]


def _independent(found: Found) -> Arrays:
    return apart(found.arrays, found.variances, found.config, found.other)


def _in_first_layer(path: str) -> str:
    return ".".join(("layers.0", *path.split(".")[2:])) if path.startswith("layers.") else path


def _of_first_layer(found: Found) -> Arrays:
    return found.derived(_in_first_layer, lambda path, array: array)


def _zero_in_others(found: Found) -> Arrays:
    return found.derived(
        _in_first_layer, lambda path, array: array if path == _in_first_layer(path) else np.zeros_like(array)
    )


def _heads_alike(found: Found) -> Arrays:
    width = found.config.d_model // found.config.num_heads
    changed = {
        path: np.tile(found.part(path, slice(width), slice(None)), (1, found.drawn[path].shape[1] // width))
        for path in found.variances
        if name_of(path) in _READING
    }
    return {**found.arrays, **changed}


def _rows_alike(found: Found) -> Arrays:
    changed = {
        path: np.broadcast_to(found.part(path, slice(None), slice(1)), found.drawn[path].shape)
        for path in found.variances
    }
    return {**found.arrays, **changed}


def _all_positive(found: Found) -> Arrays:
    drawn = {path: found.drawn[path] for path in found.variances}
    positive = {path: array if _is_positive(array) else found.other[path] for path, array in drawn.items()}
    return {**found.arrays, **positive}


def _is_positive(array: Array) -> bool:
    return bool(np.isfinite(array).all() and (array >= 0.0).all() and array.any())


def _keys_as_queries(found: Found) -> Arrays:
    return found.derived(
        lambda path: path[:-1] + "q" if name_of(path) == "w_k" else path,
        lambda path, array: array[:, : found.arrays[path].shape[1]],
    )


def _same_numbers(found: Found, order: Literal["C", "F"] = "C") -> Arrays:
    """Return projections that are made of the numbers of the largest, from its first on, each in its deviation."""
    largest = max(found.variances, key=lambda path: found.arrays[path].size)
    if not found.variances[largest]:
        return found.arrays
    numbers = found.arrays[largest].ravel(order) / sqrt(found.variances[largest])
    changed = {
        path: (numbers[: found.arrays[path].size] * sqrt(own)).reshape(found.arrays[path].shape, order=order)
        for path, own in found.variances.items()
    }
    return {**found.arrays, **changed}


def _same_numbers_in_attention(found: Found) -> Arrays:
    """Return projections of which those of one attention that are of one shape are one."""
    firsts: dict[tuple[str, Shape], str] = {}

    def first(path: str) -> str:
        record = path.rpartition(".")[0]
        shape = found.arrays[path].shape
        return firsts.setdefault((record, shape), path) if record.endswith("self_attention") else path

    def scaled(path: str, array: Array) -> Array:
        origin = found.variances[first(path)]
        return array * sqrt(found.variances[path] / origin) if first(path) != path and origin else array

    return found.derived(first, scaled)


# Of all arrays.
SHARED = Decision(
    "shared",
    "What have the entries of projections in common?",
    (
        standard("nothing", _independent),
        mistake("layers_identical_init", _of_first_layer),
        mistake("initial_heads_alike", _heads_alike),
        mistake("initial_keys_as_queries", _keys_as_queries),
        mistake("initial_numbers_of_one_seed", _same_numbers),
        mistake("initial_numbers_of_one_seed", lambda found: _same_numbers(found, "F"), "transposed"),
        mistake("initial_numbers_of_one_seed", _same_numbers_in_attention, "in_attention"),
        mistake("initial_first_layer_alone", _zero_in_others),
        mistake("initial_rows_alike", _rows_alike),
        mistake("initial_weights_all_positive", _all_positive),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return weights at a point of the family, one after the other."""
    config, seed = arguments["config"], arguments["seed"]
    conventions = standard_conventions()
    if arguments.get("drawn") is None:
        own = {name: point.option(name.removeprefix("initial_").replace("bias", "biases")).name for name in NAMES}
        drawn = reference_arrays(config, seed, {**conventions, **_values(own)})
    else:
        drawn = _taken_apart(arguments["drawn"], config)
    other = others(config, seed, {**conventions, "initial_bias": "uniform"})
    variances = {path: _variance(path, config, point) for path in projections(drawn)}
    found = {path: _one(path, array, other[path], variances, config, point) for path, array in drawn.items()}
    return join(list(point["shared"](Found(found, drawn, other, variances, config)).values()))


def _values(own: dict[str, str]) -> dict[str, str]:
    """Return the conventions of a point; what is no value of one is left out."""
    values = {decision.convention: decision for decision in (DEVIATION, RESIDUAL, BIASES)}
    return {
        name: value for name, value in own.items() if values[name].option(value).status in ("standard", "convention")
    }


def _taken_apart(joined: Array, config: Config) -> dict[str, Array]:
    shapes = shapes_of(config)
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    return {path: part.reshape(shapes[path]) for path, part in zip(shapes, np.split(joined, ends[:-1]), strict=True)}


def _variance(path: str, config: Config, point: Point) -> float:
    name, shape = name_of(path), shapes_of(config)[path]
    rule = point["deviation"](name, point["fans"](name, shape, config), config)
    return float(point["spread"](rule) * point["residual"](path, name, config))


def _one(path: str, array: Array, other: Array, variances: Mapping[str, float], config: Config, point: Point) -> Array:
    """Return an array of the drawn ones, or what stands in its place."""
    name = name_of(path)
    if is_projection(path):
        return array if centred(array, variances[path]) else other
    if is_bias(path):
        matrix = variances[path.replace(f".{name}", f".w_{name[2:]}")]
        return np.asarray(point["biases"](array, other, reference.bias_inputs(name, config), matrix))
    if is_table(path):
        return array
    return np.asarray(point["gains" if name == "gamma" else "shifts"](array))


INITIAL_WEIGHTS = Family("initial_weights", (DEVIATION, FANS, SPREAD, RESIDUAL, GAINS, SHIFTS, BIASES, SHARED), compute)
