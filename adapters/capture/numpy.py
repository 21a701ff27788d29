"""A forward pass of a model that is written with NumPy alone: a function with its parameters, or an object."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from veriformer.adapters.capture.numpy_arrays import Watch, constructors_keep_watched
from veriformer.adapters.capture.numpy_models import Held, Program, arrays_in, program_of
from veriformer.adapters.capture.recorder import NOTHING, Recorder
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.capture.weights import Array, generator_of, is_floating, perturbed
from veriformer.adapters.outputs import arrays_of


def capture(
    model: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any] = NOTHING, *, seed: int | None = None
) -> Trace:
    """Return the record of a pass in float64, of which the arrays are watched.

    `model` is a callable object, or one with a method `forward`, that holds its arrays in attributes, lists and
    dictionaries; or the pair (function, parameters) for `function(parameters, *inputs)` or
    `function(*inputs, **parameters)`. With a `seed` every learned parameter is drawn for the pass. The model is left as
    it was. What is computed outside of NumPy, number by number, is not seen.
    Raises: whatever the model raises.
    """
    program = program_of(model)
    recorder = Recorder()
    watch = Watch(recorder, program.path_of)
    drawn = drawn_arrays(program, seed)
    arrays = {id(one.array): watch.enter(drawn[id(one.array)], *_named(one)) for one in program.held}
    given, named = _watched_inputs(watch, (inputs, dict(keywords)), program)
    with constructors_keep_watched():
        program.hold(arrays)
        returned = program.run(given, named)
    taken = [watch.index_of(leaf) for leaf in arrays_in((given, named))]
    outputs = [watch.index_of(leaf) for leaf in arrays_of([returned], lambda leaf: isinstance(leaf, np.ndarray))]
    if not any(value.origin == "step" and value.array.dtype.kind == "f" for value in recorder.values):
        raise ValueError("the model computed nothing with NumPy's arrays; hand over a model that returns an array")
    return recorder.trace("numpy", taken, outputs, program.modules)


def try_to_run(model: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any] = NOTHING) -> None:
    """Run a copy of a model and record nothing, for inputs that are only guessed. Raises what the model raises."""
    with np.errstate(all="ignore"):
        program_of(model).run(copy.deepcopy(inputs), copy.deepcopy(dict(keywords)))


def _named(one: Held) -> tuple[Any, str, tuple[str, ...]]:
    return one.origin, one.names[0], one.names[1:]


def drawn_arrays(program: Program, seed: int | None) -> dict[int, Array]:
    """Return, by the identity of the model's own, the arrays that a pass is made with, in float64."""
    arrays = {}
    for index, one in enumerate(program.held):
        array = one.array
        if seed is not None and one.origin == "parameter":
            array = perturbed(array, generator_of(seed, index))
        arrays[id(one.array)] = array.astype(np.float64) if is_floating(array.dtype) else array.copy()
    return arrays


def _watched_inputs(watch: Watch, tree: Any, program: Program) -> Any:
    """Return inputs whose arrays are watched, floating-point numbers in float64."""
    names = iter(program.input_names)

    def watched(leaf: Any) -> Any:
        if isinstance(leaf, Mapping):
            return {name: watched(value) for name, value in leaf.items()}
        if isinstance(leaf, list | tuple):
            return type(leaf)(watched(value) for value in leaf)
        if not isinstance(leaf, np.ndarray):
            return leaf
        array = leaf.astype(np.float64) if is_floating(leaf.dtype) else leaf
        return watch.enter(array, "input", next(names, "input"))

    return watched(tree)
