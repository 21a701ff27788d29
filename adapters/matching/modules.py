"""The classes of a file that are one operation, such as a norm or a table of positions, as functions of it."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.arrays import ArrayFramework, framework
from veriformer.adapters.capture.guessed_sizes import LENGTH, WIDTH, guessed_arguments, size_called, with_sizes
from veriformer.adapters.errors import LoadError
from veriformer.adapters.matching.attention_classes import OPERATIONS_OF, attention_of_class
from veriformer.adapters.matching.built_classes import loss_of_class, rotation_of_class
from veriformer.adapters.matching.inner_arrays import FRAMEWORKS, holding, places_in, uncompiled
from veriformer.adapters.matching.names import is_called, suggested
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.sublayers import sublayer_of_class
from veriformer.adapters.matching.wired import DoesNotFit
from veriformer.spec.operations import OPERATIONS

_NORMS = ("layer_norm", "rms_norm")
_OF_ONE_ARRAY = ("softmax", "gelu", "silu")
_BUILT = {"cross_entropy": loss_of_class, "rotary_embedding": rotation_of_class}
_POSITIONS = "sinusoidal_positions"
_EPS = OPERATIONS["layer_norm"].parameter("eps")
_NEVER_RECORDED = (
    "it is more than one operation, and classes of its framework cannot be recorded; functions, and classes of one "
    "operation, are judged: write its parts as those"
)
_TRIED_WIDTH = 6
_FEW_ROWS = 3
_FIRST = "the first axis is that of positions, (L, B, E)"
_ZERO = "as it is built it returns zeros, since its gain begins at 0 and nothing is added to it"


def functions_of_classes(
    module: ModuleType, alone: Iterable[str], parts: Iterable[str] = ()
) -> tuple[dict[str, Callable[..., Any]], dict[str, str]]:
    """Return those classes of a module that are one operation, as functions of its arguments, by their names.

    `alone` are the classes to look at, `parts` those that others use: they are judged within these, where a framework's
    models can be recorded. With them come the classes that cannot be judged in any way, each with the reason.
    """
    functions: dict[str, Callable[..., Any]] = {}
    reasons: dict[str, str] = {}
    within = [name for name in parts if _is_never_recorded(getattr(module, name, None))]
    for name in (*alone, *within):
        kind = getattr(module, name, None)
        if not isinstance(kind, type):
            continue
        try:
            function = _as_function(name, kind)
        except DoesNotFit as why:
            reasons[name] = str(why)
            continue
        if function is not None:
            functions[name] = function
        elif _is_never_recorded(kind):
            reasons[name] = _NEVER_RECORDED
    return functions, reasons


def _is_never_recorded(kind: object) -> bool:
    """Return whether a class is of a framework whose models cannot be recorded."""
    if not isinstance(kind, type) or next(iter(frameworks_used(kind)), "") not in FRAMEWORKS:
        return False
    keras = sys.modules.get("keras")
    # A layer of Keras is recorded on other backends.
    return keras is None or not issubclass(kind, keras.layers.Layer) or keras.backend.backend() in FRAMEWORKS


def _as_function(name: str, kind: type) -> Callable[..., Any] | None:
    """Return a class as a function of the operation that its name suggests; None where it is not built like one.

    DoesNotFit, with the reason, where it cannot be judged in any other way.
    """
    of_name = suggested(name)
    arrays = _framework_of(kind)
    if arrays is None or not of_name:
        return None
    if _is_never_recorded(kind):
        sublayer = sublayer_of_class(kind, arrays)
        if sublayer is not None:
            return sublayer
    try:
        if of_name[0] in _NORMS:
            return _norm(kind, of_name[0], arrays)
        if of_name[0] == _POSITIONS:
            return _positions(kind, arrays)
        if OPERATIONS_OF.intersection(of_name):
            return attention_of_class(kind, arrays)
        if of_name[0] in _BUILT:
            made = _BUILT[of_name[0]](kind, arrays)
            return made if made is None else _named(made, kind)
        return _of_one_array(kind, arrays) if of_name[0] in _OF_ONE_ARRAY else None
    except Exception:
        # What cannot be built so is checked as a model.
        return None


def _framework_of(kind: type) -> ArrayFramework | None:
    try:
        return framework(next(iter(frameworks_used(kind)), "numpy"))
    except LoadError:
        return None


@dataclass(frozen=True)
class _Class:
    """A class that is built for a width and called with weights of the caller's."""

    kind: type
    arrays: ArrayFramework
    built: dict[tuple[int, float | None], Any] = field(default_factory=dict, repr=False)

    @property
    def is_linen(self) -> bool:
        return any(base.__module__.startswith("flax.linen") for base in self.kind.__mro__)

    def instance(self, width: int, length: int = LENGTH, eps: float | None = None) -> Any:
        """Return an object of the class for vectors of a width; TypeError where a size cannot be guessed."""
        signature = inspect.signature(self.kind)
        required = [
            name
            for name, one in signature.parameters.items()
            if one.default is one.empty and one.kind is not one.VAR_POSITIONAL and one.kind is not one.VAR_KEYWORD
        ]
        vectors = {name: first for name in required if (first := _first_of(name)) is not None}
        given = guessed_arguments(self.kind, signature, [one for one in required if one not in vectors])
        if given is None:
            raise TypeError(f"{self.kind.__name__} needs arguments that cannot be guessed")
        given |= {name: self.arrays.from_numpy(np.full(width, one), "float32") for name, one in vectors.items()}
        given |= {name: LENGTH for name in signature.parameters if size_called(name) == LENGTH}
        sizes = {WIDTH: width, LENGTH: max(length, LENGTH)}
        arguments = {name: with_sizes(value, sizes) for name, value in given.items()}
        names = [name for name in signature.parameters if is_called(name, _EPS)]
        if eps is not None and names:
            arguments[names[0]] = eps
        made = self.kind(**arguments)
        evaluate = getattr(made, "eval", None)
        return evaluate() or made if callable(evaluate) and not self.is_linen else made

    def weights_of(self, made: Any, x: Any) -> dict[str, Any]:
        """Return the vectors of weights of an object, by name; ValueError where it has others."""
        if self.arrays.name == "tensorflow":
            # A layer has weights once it was called.
            made(x)
            weights = {one.name: _tensor(one.value) for one in places_in(made, self.arrays)}
        elif self.is_linen:
            import jax

            weights = dict(made.init(jax.random.key(0), x).get("params", {}))
        elif self.arrays.name == "torch":
            weights = dict(made.named_parameters()) if hasattr(made, "named_parameters") else vars(made)
        else:
            weights = dict(made) if isinstance(made, dict) else dict(vars(made))
        weights = {name: one for name, one in weights.items() if self.arrays.is_array(one) or isinstance(one, Mapping)}
        if any(isinstance(one, Mapping) or len(shape_of(one)) != 1 for one in weights.values()):
            raise ValueError(f"{self.kind.__name__} has weights that are no vectors")
        return weights

    def call(self, made: Any, weights: Mapping[str, Any], x: Any) -> Any:
        """Return what an object answers with these weights."""
        if self.is_linen:
            return made.apply({"params": dict(weights)}, x)
        if self.arrays.name == "torch" and hasattr(made, "named_parameters"):
            from torch.func import functional_call

            return functional_call(made, dict(weights), (x,))
        if self.arrays.name == "tensorflow":
            return self._call_with(made, weights, x)
        other = copy.copy(made)
        for name, value in weights.items():
            _set(other, name, value)
        return (other if callable(other) else other.forward)(x)

    def _call_with(self, made: Any, weights: Mapping[str, Any], x: Any) -> Any:
        with uncompiled(self.arrays.name):
            if weights and not getattr(made, "built", True):
                made(x)
            places = [one for one in places_in(made, self.arrays) if one.name in weights]
            with holding(places, [weights[one.name] for one in places]):
                return made(x)


def _tensor(variable: Any) -> Any:
    """Return what a variable of TensorFlow or of Keras holds."""
    value = getattr(variable, "value", variable)
    return sys.modules["tensorflow"].convert_to_tensor(value() if callable(value) else value)


def _first_of(name: str) -> float | None:
    """Return the numbers that a gain or a shift has at first; None for the name of anything else."""
    first = {"gamma": 1.0, "beta": 0.0}
    record = OPERATIONS["layer_norm"]
    return next((one for role, one in first.items() if is_called(name, record.parameter(role))), None)


def _set(made: Any, name: str, value: Any) -> None:
    try:
        setattr(made, name, value)
    except (AttributeError, TypeError):
        # A frozen dataclass, which a copy may be changed of.
        object.__setattr__(made, name, value)


def _norm(kind: type, operation: str, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return a norm's class as a function of vectors, gain, shift and eps, as far as it has them."""
    own = _Class(kind, arrays)
    made = own.instance(_TRIED_WIDTH)
    x = arrays.from_numpy(np.arange(2.0 * _TRIED_WIDTH).reshape(1, 2, _TRIED_WIDTH) % 5, "float32")
    roles = _roles(operation, own.weights_of(made, x), arrays)
    if roles is None or shape_of(own.call(made, {}, x) if not own.is_linen else x) != shape_of(x):
        return None
    is_zero = not own.is_linen and not np.any(arrays.to_numpy(own.call(made, {}, x)))
    attribute = next((name for name in _members(made) if is_called(name, _EPS)), None)
    in_constructor = any(is_called(name, _EPS) for name in inspect.signature(kind).parameters)
    has_eps = in_constructor or attribute is not None

    def norm(x: Any, **given: Any) -> Any:
        eps = given.get("eps")
        width = int(shape_of(x)[-1])
        if (width, eps) not in own.built:
            its = own.instance(width, eps=eps if in_constructor else None)
            if eps is not None and not in_constructor and attribute is not None:
                _set(its, attribute, eps)
            own.built[width, eps] = its
        return own.call(own.built[width, eps], {name: given[role] for role, name in roles.items()}, x)

    norm.__signature__ = _signature(["x", *roles], ["eps"] if has_eps else [])  # type: ignore[attr-defined]
    norm.said = (_ZERO,) if is_zero else ()  # type: ignore[attr-defined]
    return _named(norm, kind)


def _members(made: Any) -> list[str]:
    fields = getattr(made, "__dataclass_fields__", {})
    return [*vars(made), *fields] if hasattr(made, "__dict__") else list(fields)


def _roles(operation: str, weights: Mapping[str, Any], arrays: ArrayFramework) -> dict[str, str] | None:
    """Return the name of the gain and of the shift among vectors: by their names, else by their first values."""
    roles: dict[str, str] = {}
    parameters = [one for one in OPERATIONS[operation].parameters if one.name in ("gamma", "beta")]
    for name, value in weights.items():
        last = name.rpartition(".")[2]
        role = next((one.name for one in parameters if is_called(last, one)), None)
        role = role or ("gamma" if float(arrays.to_numpy(value)[0]) == 1.0 else "beta")
        if role in roles or role not in [one.name for one in parameters]:
            return None
        roles[role] = name
    return roles


def _positions(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return the class that adds a table of positions as a function of the table's length and width."""
    own = _Class(kind, arrays)
    made = own.instance(WIDTH)
    if hasattr(made, "named_parameters") and list(made.named_parameters()):
        # What is learned is no table of sines.
        return None

    def table(length: int, d_model: int, axis: int) -> Any:
        its = own.instance(d_model, length)
        nothing = arrays.from_numpy(np.zeros((1, length, d_model) if axis else (length, 1, d_model)), "float32")
        weights = {} if not own.is_linen else own.weights_of(its, nothing)
        found = own.call(its, weights, nothing)
        if shape_of(found) != shape_of(nothing):
            raise ValueError(f"{kind.__name__} returns another shape than it is given")
        if arrays.to_numpy(nothing).any():
            # The laws of models see it; a table would not show it.
            raise ValueError(f"{kind.__name__} changes what it is given")
        return found[0] if axis else found[:, 0]

    first = _differs_along(partial(table, _FEW_ROWS, WIDTH), arrays)

    def positions(length: int, d_model: int) -> Any:
        return table(length, d_model, 0 if first else 1)

    positions.said = (_FIRST,) if first else ()  # type: ignore[attr-defined]
    return _named(positions, kind)


def _differs_along(table: Callable[[int], Any], arrays: ArrayFramework) -> bool:
    """Return whether the rows of a table differ along the first axis, and not along the second."""
    second = arrays.to_numpy(table(1))
    if (second != second[0]).any():
        return False
    try:
        first = arrays.to_numpy(table(0))
    except Exception:
        return False
    return bool((first != first[0]).any())


def _of_one_array(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    own = _Class(kind, arrays)
    made = own.instance(_TRIED_WIDTH)
    if own.is_linen or own.weights_of(made, None):
        return None

    def of(x: Any) -> Any:
        return own.call(made, {}, x)

    return _named(of, kind)


def _named(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Return a function that is called as its class and tells whose code it runs."""
    function.__name__ = function.__qualname__ = kind.__name__
    if not hasattr(function, "__signature__"):
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    function.__wrapped__ = kind  # type: ignore[attr-defined]
    return function


def _signature(required: list[str], optional: list[str]) -> inspect.Signature:
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            *(kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in required[:1]),
            *(kinds(name, kinds.KEYWORD_ONLY) for name in required[1:]),
            *(kinds(name, kinds.KEYWORD_ONLY, default=None) for name in optional),
        ]
    )
