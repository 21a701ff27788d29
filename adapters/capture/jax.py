"""A forward pass of a model on JAX: Flax NNX, Equinox, Keras on JAX, or a function with its parameters.

A Keras model on the torch backend is a `torch.nn.Module`; the capture of torch records it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from veriformer.adapters.capture.handed_over import is_array
from veriformer.adapters.capture.jax_models import Program, joined, program_of
from veriformer.adapters.capture.jax_places import Place
from veriformer.adapters.capture.jax_widening import Widening
from veriformer.adapters.capture.jaxpr import Interpreter, as_numpy
from veriformer.adapters.capture.numbers import in_double
from veriformer.adapters.capture.recorder import NOTHING, Recorder
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.capture.weights import Array, generator_of, is_floating, is_formula, perturbed
from veriformer.adapters.outputs import arrays_of


def capture(
    model: Any,
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any] = NOTHING,
    *,
    seed: int | None = None,
) -> Trace:
    """Return the record of `model(*inputs, **keywords)` in evaluation mode, in float64 where the model can run in it.

    `model` is a Flax NNX module, an Equinox module, a Keras model, the pair (function, parameters) for
    `function(parameters, *inputs)`, where a Flax Linen module may be the function and a module of NNX or Equinox the
    parameters, or a function alone, whose parameters are then constants. With a `seed` every learned parameter is
    replaced by a drawn one for the pass. The model itself is left as it was.
    Raises: LoadError where `model` is none of these, otherwise whatever the model raises in its own precision.
    """
    with jax.default_device(jax.devices("cpu")[0]):
        program = program_of(model, inputs, keywords)
        arrays = drawn_arrays(program, seed)
        try:
            with jax.enable_x64(True), program.in_float64():
                return _recorded(program, arrays, inputs, keywords, np.dtype(np.float64))
        except Exception:
            # Some models mix what they make themselves in float32 with their parameters, and JAX refuses.
            return _recorded(program, arrays, inputs, keywords, None)


def try_to_run(model: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any] = NOTHING) -> None:
    """Trace a model and compute nothing, for inputs that are only guessed; raises what the model raises."""
    with jax.default_device(jax.devices("cpu")[0]):
        program = program_of(model, inputs, keywords)
        run, fed, _ = _prepared(program, inputs, keywords, None)
        jax.make_jaxpr(run)([to_jax(array, None) for array in drawn_arrays(program, None)], fed)


def as_arrays(tree: Any) -> Any:
    """Return inputs with arrays of other libraries as NumPy's."""

    def converted(leaf: Any) -> Any:
        return leaf if _is_array(leaf) or not is_array(leaf) else np.asarray(leaf)

    return jax.tree_util.tree_map(converted, tree)


def drawn_arrays(program: Program, seed: int | None) -> list[Array]:
    """Return the arrays of a program, in place of each learned one a drawn one if there is a seed."""
    arrays = [as_numpy(leaf.array) for leaf in program.leaves]
    if seed is None:
        return arrays
    learned = (place for place, leaf in enumerate(program.leaves) if leaf.origin == "parameter")
    for index, place in enumerate(place for place in learned if is_floating(arrays[place].dtype)):
        arrays[place] = perturbed(arrays[place], generator_of(seed, index))
    return arrays


def _recorded(
    program: Program,
    arrays: Sequence[Array],
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any],
    precision: np.dtype[Any] | None,
) -> Trace:
    parameters = [to_jax(array, precision) for array in arrays]
    run, fed, paths = _prepared(program, inputs, keywords, precision)
    closed = jax.make_jaxpr(run)(parameters, fed)
    recorder = Recorder()
    interpreter = Interpreter(recorder, Widening(None if precision is None else _own_precision(arrays)))
    for leaf, array in zip(program.leaves, arrays, strict=True):
        if leaf.origin == "buffer" and is_formula(array) and not in_double(array)[1]:
            # What a formula gave in single precision is not its value in double.
            recorder.computes_in(array.dtype)
    entered = [
        interpreter.enter(array, leaf.origin, leaf.name, leaf.aliases)
        for leaf, array in zip(program.leaves, parameters, strict=True)
    ]
    names = _input_names(program, paths)
    taken = [interpreter.enter(array, "input", name) for name, array in zip(names, fed, strict=True)]
    outputs = interpreter.run_closed(closed, [*entered, *taken], Place())
    return recorder.trace(program.framework, taken, outputs, program.modules)


def _prepared(
    program: Program, inputs: tuple[Any, ...], keywords: Mapping[str, Any], precision: np.dtype[Any] | None
) -> tuple[Callable[[Sequence[Any], Sequence[Any]], list[Any]], list[Any], list[tuple[Any, ...]]]:
    """Return a function of a model's arrays and the arrays among its inputs, these inputs, and their paths."""
    given, structure = jax.tree_util.tree_flatten_with_path((inputs, dict(keywords)))
    traced = [place for place, (_, leaf) in enumerate(given) if _is_array(leaf)]
    fed = [to_jax(as_numpy(given[place][1]), precision) for place in traced]

    def run(parameters: Sequence[Any], fed: Sequence[Any]) -> list[Any]:
        leaves = [leaf for _, leaf in given]
        for place, array in zip(traced, fed, strict=True):
            leaves[place] = array
        returned = program.call(parameters, *jax.tree_util.tree_unflatten(structure, leaves))
        return arrays_of(jax.tree_util.tree_leaves(returned), _is_array)

    return run, fed, [given[place][0] for place in traced]


def _own_precision(arrays: Sequence[Array]) -> np.dtype[Any]:
    """Return the coarsest floating-point dtype of a model's arrays, float32 without any."""
    dtypes = [array.dtype for array in arrays if is_floating(array.dtype)]
    return min(dtypes, key=lambda dtype: dtype.itemsize, default=np.dtype(np.float32))


def to_jax(array: Array, precision: np.dtype[Any] | None) -> Any:
    """Return an array for JAX: floating-point numbers in `precision` if there is one, whole ones in 32 bits."""
    if is_floating(array.dtype):
        return jnp.asarray(array, dtype=precision)
    # Without x64, which is how the model is meant to run, JAX has no others.
    return jnp.asarray(array, dtype=np.int32 if array.dtype == np.int64 else None)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | jax.Array)


def _input_names(program: Program, paths: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return a name for each input: the argument's, followed by the path in it; by its place where it has none."""
    arguments = _argument_names(program.called)[program.first_input :]
    names = []
    for which, key, *inside in paths:
        # The first key tells positions from keywords.
        name = joined((key,))
        if which.idx == 0:
            name = arguments[key.idx] if key.idx < len(arguments) else f"input.{key.idx}"
        names.append(".".join(filter(None, [name, joined(tuple(inside))])))
    return names


def _argument_names(called: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional]
