"""Classes that are a loss or a rotation, as functions: they are built for the sizes of each call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.capture.guessed_sizes import LENGTH, WIDTH, size_called
from veriformer.adapters.matching.chunks import SIZES, TOKENS
from veriformer.adapters.matching.linear_losses import are_hidden_and_matrix
from veriformer.adapters.matching.names import folded, is_called
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.places import FARTHEST
from veriformer.spec.operations import OPERATIONS

_CLASSES = frozenset(
    "nclasses numclasses classes vocabsize vocab size v numlabels nvocab tgtvocabsize vocabularysize nclass".split()  # noqa: SIM905
)
_HEAD_WIDTH = size_called("head_dim")
_LOSS = OPERATIONS["cross_entropy"]
_ROTATION = OPERATIONS["rotary_embedding"]
_SETTINGS = {"label_smoothing": 0.0, "ignore_index": -100}
_KEYS = ("k", "key", "xk", "keys")
_TRIED_CLASSES, _TRIED_WIDTH = 7, 6


def loss_of_class(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return a loss's class as a function of logits and targets, with the settings that it is built with.

    One that makes the logits itself is a function of hidden states, a matrix and targets.
    """
    settings = _settings_of(kind, _SETTINGS)

    def loss(*positional: Any, **given: Any) -> Any:
        chosen = {name: _SETTINGS[role] if given.get(role) is None else given[role] for name, role in settings.items()}
        return _called(_built(kind, chosen, lambda name: _size_of_loss(name, positional[0])), *positional)

    logits = arrays.from_numpy(np.ones((2, _TRIED_CLASSES)), "float32")
    made = _built(kind, {}, lambda name: _size_of_loss(name, logits))
    names = tuple(_required_of_call(made))
    if _has_weights(made):
        return None
    if len(names) == len(("hidden", "weight", "targets")) and are_hidden_and_matrix(*names[:2]):
        return _with_signature(loss, names, tuple(settings.values()))
    return _with_signature(loss, ("logits", "targets"), tuple(settings.values())) if len(names) == 2 else None


def rotation_of_class(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return a rotation's class as a function of what its call takes, and of the base that it is built with."""
    bases = _settings_of(kind, {"base": None})

    def rotation(*positional: Any, base: Any = None) -> Any:
        chosen = {} if base is None else dict.fromkeys(bases, base)
        last = _last_place(positional[1:], arrays)
        made = _built(kind, chosen, lambda name: _size_of_rotation(kind, name, positional[0], last))
        return _called(made, *positional)

    x = arrays.from_numpy(np.ones((2, 4, 4, _TRIED_WIDTH)), "float32")
    made = _built(kind, {}, lambda name: _size_of_rotation(kind, name, x, 0))
    names = _required_of_call(made)
    positions = _ROTATION.parameter("positions")
    if not names or _has_weights(made) or not all(one in _KEYS or is_called(one, positions) for one in names[1:]):
        return None
    if len(names) == 1 and shape_of(_called(made, x)) != shape_of(x):
        # What returns tables is no rotation by itself.
        return None
    return _with_signature(rotation, tuple(names), tuple(bases.values()))


def _settings_of(kind: type, roles: Mapping[str, Any]) -> dict[str, str]:
    """Return which parameters of a class are which settings of the operation."""
    parameters = [one for operation in (_LOSS, _ROTATION) for one in operation.parameters if one.name in roles]
    names = inspect.signature(kind).parameters
    return {name: one.name for name in names for one in parameters if is_called(name, one)}


def _size_of_loss(name: str, logits: Any) -> Any:
    """Return how many classes there are, or tokens in a part, where a name asks for that."""
    if folded(name) in SIZES:
        return TOKENS
    return int(shape_of(logits)[-1]) if folded(name) in _CLASSES else None


def _last_place(given: Sequence[Any], arrays: ArrayFramework) -> int:
    """Return the largest position among the arguments of a call; ValueError where a table of so many rows is none."""
    whole = [one for one in map(arrays.to_numpy, filter(arrays.is_array, given)) if one.dtype.kind in "iu" and one.size]
    last = max((int(one.max()) for one in whole), default=0)
    if last > FARTHEST or any(one.min() < 0 for one in whole):
        raise ValueError(f"positions are the places of rows here, at most {FARTHEST}")
    return last


def _size_of_rotation(kind: type, name: str, x: Any, last: int) -> Any:
    *lengths, width = shape_of(x)
    if size_called(name) in (WIDTH, _HEAD_WIDTH):
        return int(width)
    if size_called(name) == LENGTH:
        default = inspect.signature(kind).parameters[name].default
        return max(*lengths, LENGTH, last + 1, default if type(default) is int else 0)
    return size_called(name) if type(size_called(name)) is float else None


def _built(kind: type, chosen: Mapping[str, Any], size_of: Callable[[str], Any]) -> Any:
    """Return an object of a class with these settings; TypeError where it needs what nothing tells."""
    arguments = dict(chosen)
    for name, one in inspect.signature(kind).parameters.items():
        is_required = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        size = size_of(name)
        if name not in chosen and size is not None and (is_required or type(one.default) is int):
            arguments[name] = size
        elif name not in chosen and is_required:
            arguments[name] = _of_setting(name)
    made = kind(**arguments)
    evaluate = getattr(made, "eval", None)
    return evaluate() or made if callable(evaluate) else made


def _of_setting(name: str) -> Any:
    for role, value in _SETTINGS.items():
        if is_called(name, _LOSS.parameter(role)):
            return value
    raise TypeError(f"nothing tells what to pass as {name}")


def _required_of_call(made: Any) -> list[str]:
    call = made.forward if hasattr(made, "forward") else made.call if hasattr(made, "call") else made.__call__
    return [name for name, one in inspect.signature(call).parameters.items() if one.default is one.empty]


def _has_weights(made: Any) -> bool:
    return hasattr(made, "named_parameters") and bool(list(made.named_parameters()))


def _called(made: Any, *positional: Any) -> Any:
    return (made if callable(made) else made.forward)(*positional)


def _with_signature(
    function: Callable[..., Any], required: tuple[str, ...], optional: tuple[str, ...]
) -> Callable[..., Any]:
    kinds = inspect.Parameter
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(kinds(name, kinds.POSITIONAL_ONLY) for name in required),
            *(kinds(name, kinds.KEYWORD_ONLY, default=None) for name in optional),
        ]
    )
    return function
