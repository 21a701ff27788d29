"""Models on JAX as functions of their arrays: Flax NNX, Equinox, Keras, and a function with its parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import jax
import numpy as np
from veriformer.adapters.capture.jax_places import modules_marked
from veriformer.adapters.capture.keras_paths import named_layers
from veriformer.adapters.capture.linen import applied
from veriformer.adapters.capture.trace import Origin
from veriformer.adapters.capture.weights import is_formula
from veriformer.adapters.errors import LoadError

Path = tuple[Any, ...]


@dataclass(frozen=True)
class Leaf:
    """An array of a model: a parameter, which is learned, or a buffer, under its path."""

    name: str
    array: Any
    origin: Origin = "parameter"
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """A model without its arrays: `call(arrays, inputs, keywords)` runs it, with an array for each of the leaves.

    `called` is the object whose signature names the inputs, from the argument at `first_input` on. `in_float64` sets
    the model to that precision where its arrays alone do not.
    """

    framework: str
    leaves: tuple[Leaf, ...]
    call: Callable[[Sequence[Any], tuple[Any, ...], Mapping[str, Any]], Any]
    called: Any
    first_input: int = 0
    modules: Mapping[str, str] = field(default_factory=dict)
    in_float64: Callable[[], AbstractContextManager[None]] = nullcontext


def program_of(model: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Program:
    """Return a model as a function of its arrays; LoadError where it is not callable.

    The inputs are needed only for a Keras model that has not made its variables yet.
    """
    if _is_one(model, "flax.nnx", "Module"):
        return _flax_program(model)
    if _is_one(model, "equinox", "Module"):
        return _equinox_program(model)
    if _is_one(model, "keras", "Layer"):
        return _keras_program(model, inputs, keywords)
    if isinstance(model, tuple | list) and len(model) == 2 and callable(model[0]):
        return _pair_program(*model)
    if callable(model):
        # Its parameters are constants of the program, whose values are the only ones that it has.
        return Program("jax", (), lambda _arrays, given, named: model(*given, **named), model)
    raise LoadError(
        f"a {type(model).__name__} is no model of JAX; hand over a Flax NNX, Equinox or Keras model, a function, "
        "or the pair (function, parameters)"
    )


def joined(path: Path) -> str:
    """Return a path of keys, indices and attributes with dots: "layers.0.attn.query.kernel"."""
    parts = (getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))) for key in path)
    return ".".join(str(part) for part in parts)


def _is_one(model: Any, module: str, kind: str) -> bool:
    # A model of a framework that is not imported cannot exist.
    return module in sys.modules and isinstance(model, getattr(sys.modules[module], kind))


def _is_array(leaf: Any) -> bool:
    """Return whether a leaf of a model is an array for JAX to trace; sizes and counts must stay plain numbers."""
    if not isinstance(leaf, jax.Array | np.ndarray) or jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return False
    return leaf.ndim > 0 or jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)


# --- a tree of arrays -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tree:
    """A tree with its arrays taken out: an array that occurs several times is one leaf with aliases."""

    leaves: tuple[Leaf, ...]
    _structure: Any
    _others: tuple[Any, ...]
    _places: tuple[int | None, ...]

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Return the tree with these arrays in place of its own."""
        filled = [
            other if place is None else arrays[place] for other, place in zip(self._others, self._places, strict=True)
        ]
        return jax.tree_util.tree_unflatten(self._structure, filled)


def _tree(tree: Any, leaf_of: Callable[[Path, Any], Leaf]) -> _Tree:
    found, structure = jax.tree_util.tree_flatten_with_path(tree)
    leaves: list[Leaf] = []
    known: dict[int, int] = {}
    places: list[int | None] = []
    for path, value in found:
        if not _is_array(value):
            places.append(None)
            continue
        leaf = leaf_of(path, value)
        place = known.setdefault(id(value), len(leaves))
        if place == len(leaves):
            leaves.append(leaf)
        else:
            leaves[place] = _with_alias(leaves[place], leaf.name)
        places.append(place)
    return _Tree(tuple(leaves), structure, tuple(value for _, value in found), tuple(places))


def _with_alias(leaf: Leaf, name: str) -> Leaf:
    return Leaf(leaf.name, leaf.array, leaf.origin, (*leaf.aliases, name))


def _array_leaf(path: Path, value: Any) -> Leaf:
    """Return the leaf for an array of which nothing but its values tells whether it is learned."""
    array = np.asarray(value)
    learned = jax.numpy.issubdtype(array.dtype, jax.numpy.inexact) and not is_formula(array)
    # A single array is no tree and has no path.
    return Leaf(joined(path) or "parameters", value, "parameter" if learned else "buffer")


def _pair_program(function: Any, parameters: Any) -> Program:
    if _is_one(function, "flax.linen", "Module"):
        return _function_program(applied(function), _with_collection(parameters))
    if _is_one(parameters, "flax.nnx", "Module"):
        return _flax_program(parameters, function)
    if _is_one(parameters, "equinox", "Module"):
        return _equinox_program(parameters, function)
    return _function_program(function, parameters)


def _with_collection(variables: Any) -> Any:
    """Return the variables of a Linen module, also where its parameters alone are given, as `init(…)["params"]`."""
    return variables if not isinstance(variables, Mapping) or "params" in variables else {"params": variables}


def _function_program(function: Callable[..., Any], parameters: Any) -> Program:
    tree = _tree(parameters, _array_leaf)

    def call(arrays: Sequence[Any], inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        return function(tree.filled(arrays), *inputs, **keywords)

    return Program("jax", tree.leaves, call, function, first_input=1)


# --- modules ----------------------------------------------------------------------------------------------------------


def _walk(node: Any, is_module: Callable[[Any], bool], path: str = "", above: tuple[int, ...] = ()) -> Iterator[Any]:
    """Yield what a module holds, itself first, each with its path; what is shared, under each of its paths."""
    if id(node) in above:
        return
    yield path, node
    for name, member in _members(node, is_module):
        yield from _walk(member, is_module, f"{path}.{name}" if path else str(name), (*above, id(node)))


def _members(node: Any, is_module: Callable[[Any], bool]) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, list | tuple):
        yield from enumerate(node)
    elif is_module(node):
        yield from ((name, member) for name, member in vars(node).items() if not name.startswith("_pytree__"))


def _modules(model: Any, is_module: Callable[[Any], bool]) -> list[tuple[str, Any]]:
    return [(path, node) for path, node in _walk(model, is_module) if is_module(node)]


def _marked(modules: Iterable[tuple[str, Any]]) -> AbstractContextManager[None]:
    paths: dict[int, str] = {}
    for path, module in modules:
        paths.setdefault(id(module), path)
    return modules_marked(paths, [module for _, module in modules])


def _kinds(modules: Iterable[tuple[str, Any]]) -> dict[str, str]:
    return {path: type(module).__name__ for path, module in modules}


def _equinox_program(model: Any, function: Callable[..., Any] | None = None) -> Program:
    """Return the program of a model, or of a function that takes the model first."""
    import equinox

    tree = _tree(model, _array_leaf)

    def is_module(node: Any) -> bool:
        return isinstance(node, equinox.Module)

    def call(arrays: Sequence[Any], inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        filled = equinox.nn.inference_mode(tree.filled(arrays))
        with _marked(_modules(filled, is_module)):
            return filled(*inputs, **keywords) if function is None else function(filled, *inputs, **keywords)

    called, first = (model, 0) if function is None else (function, 1)
    return Program("equinox", tree.leaves, call, called, first, _kinds(_modules(model, is_module)))


def _flax_program(model: Any, function: Callable[..., Any] | None = None) -> Program:
    """Return the program of a model, or of a function that takes the model first."""
    from flax import nnx

    graph, state = nnx.split(model)
    kinds = {joined(path): type(variable) for path, variable in nnx.to_flat_state(state)}
    other_paths = _paths_of_variables(model)

    def leaf_of(path: Path, value: Any) -> Leaf:
        # The last key leads from the variable to its array.
        name = joined(path[:-1])
        learned = issubclass(kinds.get(name, nnx.Variable), nnx.Param)
        aliases = tuple(other for other in other_paths.get(name, ()) if other != name)
        return Leaf(name, value, "parameter" if learned else "buffer", aliases)

    tree = _tree(state, leaf_of)

    widened = [False]

    @contextmanager
    def in_float64() -> Iterator[None]:
        widened[0] = True
        try:
            yield
        finally:
            widened[0] = False

    def call(arrays: Sequence[Any], inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        merged = nnx.merge(graph, tree.filled(arrays))
        merged.eval()
        modules = _modules(merged, _is_flax_module)
        if widened[0]:
            _widen(module for _, module in modules)
        with _marked(modules):
            return merged(*inputs, **keywords) if function is None else function(merged, *inputs, **keywords)

    called, first = (model, 0) if function is None else (function, 1)
    kinds_of_modules = _kinds(_modules(model, _is_flax_module))
    return Program("flax", tree.leaves, call, called, first, kinds_of_modules, in_float64)


def _widen(modules: Iterable[Any]) -> None:
    """Let modules compute in float64 that are told a dtype, as Flax's embedding is by default."""
    for module in modules:
        for name in ("dtype", "param_dtype"):
            value = vars(module).get(name)
            if value is not None and jax.numpy.issubdtype(value, jax.numpy.floating):
                setattr(module, name, jax.numpy.float64)


def _is_flax_module(node: Any) -> bool:
    from flax import nnx

    return isinstance(node, nnx.Module)


def _paths_of_variables(model: Any) -> dict[str, list[str]]:
    """Return all paths of each variable that a model has several times, under each of them."""
    from flax import nnx

    # A list of modules holds them as attributes, as a module does.
    found: dict[int, list[str]] = {}
    for path, node in _walk(model, lambda node: isinstance(node, nnx.Pytree) and not isinstance(node, nnx.Variable)):
        if isinstance(node, nnx.Variable):
            found.setdefault(id(node), []).append(path)
    return {path: paths for paths in found.values() if len(paths) > 1 for path in paths}


# --- Keras ------------------------------------------------------------------------------------------------------------


def _keras_program(model: Any, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Program:
    from veriformer.adapters.keras_backend import require_backend

    require_backend("jax")
    if not model.built:
        model(*inputs, **keywords)
    learned, others = model.trainable_variables, model.non_trainable_variables
    layers = list(named_layers(model))
    paths = _keras_paths(layers)
    leaves = tuple(
        Leaf(name, variable.value, "parameter" if variable.trainable else "buffer", tuple(paths[id(variable)][1:]))
        for name, variable in zip(_unique(paths, learned + others), learned + others, strict=True)
    )
    # stateless_call hands over what it is given to `call`, which need not take it; without it, nothing is trained.
    evaluation = {"training": False} if "training" in inspect.signature(model.call).parameters else {}

    def call(arrays: Sequence[Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        with _marked(layers):
            returned, _ = model.stateless_call(
                list(arrays[: len(learned)]), list(arrays[len(learned) :]), *given, **{**evaluation, **named}
            )
        return returned

    return Program(
        "keras", leaves, call, model.call, modules=_kinds(layers), in_float64=lambda: _keras_in_float64(model)
    )


def _keras_paths(layers: list[tuple[str, Any]]) -> dict[int, list[str]]:
    """Return the paths of each variable, by its identity: that of the innermost layer that has it, and its name."""
    paths: dict[int, list[str]] = {}
    for path, layer in layers:
        inner = layer._flatten_layers(include_self=False, recursive=False)
        inside = {id(variable) for one in inner for variable in one.variables}
        for variable in layer.variables:
            name = f"{path}.{variable.name}" if path else variable.name
            if id(variable) not in inside and name not in paths.setdefault(id(variable), []):
                paths[id(variable)].append(name)
    return paths


def _unique(paths: Mapping[int, list[str]], variables: list[Any]) -> list[str]:
    """Return the first path of each variable, numbered where layers side by side have the same name."""
    seen: dict[str, int] = {}
    unique = []
    for name in (paths[id(variable)][0] for variable in variables):
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return unique


@contextmanager
def _keras_in_float64(model: Any) -> Iterator[None]:
    """Let every layer compute in float64, and every floating variable take such an array; put it back at the end."""
    import keras

    floating = [variable for variable in model.variables if keras.backend.is_float_dtype(variable.dtype)]
    layers = [*model._flatten_layers(include_self=True, recursive=True)]
    dtypes = [variable._dtype for variable in floating]
    policies = [layer.dtype_policy for layer in layers]
    default = keras.config.floatx()
    # Keras takes float64 for float32 wherever it combines dtypes.
    narrowed = import_module("keras.src.backend.common.dtypes").BIT64_TO_BIT32_DTYPE
    narrow = narrowed["float64"]
    try:
        keras.config.set_floatx("float64")
        narrowed["float64"] = "float64"
        for variable in floating:
            # stateless_call casts what it is given to this dtype.
            variable._dtype = "float64"
        for layer in layers:
            layer.dtype_policy = "float64"
        yield
    finally:
        keras.config.set_floatx(default)
        narrowed["float64"] = narrow
        for variable, dtype in zip(floating, dtypes, strict=True):
            variable._dtype = dtype
        for layer, policy in zip(layers, policies, strict=True):
            layer.dtype_policy = policy
