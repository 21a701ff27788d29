"""A function of queries, keys and values as a layer: with projections before it and behind it, of random numbers.

Such a function may turn its queries by their positions, or normalise them: as an operation it is none of the
interface's, and as part of a layer it is recognised as attentions of whole models are.
"""

from __future__ import annotations

import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from inspect import Parameter
from itertools import product
from typing import Any

import numpy as np
from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.arrays import ArrayFramework, framework
from veriformer.adapters.capture.roles import ROLES, have_roles, role_of
from veriformer.adapters.errors import LoadError
from veriformer.adapters.matching.more_than_attention import more_than_attention
from veriformer.adapters.matching.namespaces import reshaped, shape_of

_HEADS, _WIDTH = 4, 8
_D_MODEL = _HEADS * _WIDTH
_SAMPLES, _LENGTH = 2, 5
_WINDOW = 4
_BASE = 10_000.0
_SEED = 11
# The position and the head whose numbers are changed.
_AT, _HEAD = 2, 1
# By how much numbers differ that are the same but for rounding.
_SAME = 1e-5
_FRAMEWORKS = ("torch", "jax", "numpy")
_PROJECTIONS = (*ROLES, "output")


@dataclass(frozen=True)
class _Learned:
    """An array of this shape that a model learns."""

    shape: tuple[int, ...]


# A number, what makes an array for a number of positions, or a parameter.
_Given = bool | int | float | Callable[[int], np.ndarray] | _Learned


def _angles(length: int) -> np.ndarray:
    frequencies = _BASE ** (-2.0 * np.arange(_WIDTH // 2) / _WIDTH)
    return np.asarray(np.arange(length)[:, None] * frequencies)


def _slopes(_: int) -> np.ndarray:
    return 2.0 ** (-8.0 * np.arange(1, _HEADS + 1) / _HEADS)


# The usual number of buckets.
_BUCKETS = 32
_TABLE = r"table|^rel(ative)?_?(pos(ition)?s?_?)?(attention_?)?(bias|emb\w*|weights?)$|^(pos(ition)?_)?bias_weights?$"
_GIVEN: tuple[tuple[re.Pattern[str], _Given], ...] = (
    (re.compile(r"^(sliding_)?window(_size)?$"), _WINDOW),
    (re.compile(r"^(is_)?causal$"), True),
    (re.compile(r"^((sm|softmax|attn|attention)_)?scale$"), _WIDTH**-0.5),
    (re.compile(r"^(n|num)_?heads?$|^heads$"), _HEADS),
    (re.compile(r"dropout|^p_drop"), 0.0),
    (re.compile(r"^(soft_?cap|logit_cap|cap)$"), 30.0),
    (re.compile(r"^(theta|base|rope_theta|rope_base)$"), _BASE),
    (re.compile(r"^(eps|epsilon)$"), 1e-6),
    (re.compile(r"^(pos|positions|position_ids)$"), np.arange),
    (re.compile(r"^(rope_)?cos$"), lambda length: np.cos(_angles(length))),
    (re.compile(r"^(rope_)?sin$"), lambda length: np.sin(_angles(length))),
    (re.compile(r"^(alibi_)?slopes?$"), _slopes),
    (re.compile(_TABLE), _Learned((_BUCKETS, _HEADS))),
    (re.compile(_TABLE), _Learned((_HEADS, _BUCKETS))),
    (re.compile(r"^(q|k|query|key)_?(norm)?_?(weight|gain|scale|gamma|g|w)$"), _Learned((_WIDTH,))),
    (re.compile(r"^sinks?$"), _Learned((_HEADS,))),
)


@dataclass(frozen=True)
class _Layout:
    """How a function takes (B, L, H, D), or (L, H, D) without samples: with its axes in another order."""

    words: str
    axes: tuple[int, ...]
    has_samples: bool = True

    def laid_out(self, heads: Any) -> Any:
        """Return heads (B, L, H, D), or (L, H, D), as the function takes them."""
        return _moved(heads, self.axes)

    def back(self, result: Any) -> Any:
        """Return a result of the function as (B, L, H, D), or (L, H, D)."""
        return _moved(result, tuple(int(one) for one in np.argsort(self.axes)))


_LAYOUTS = (
    _Layout("(B, H, L, D)", (0, 2, 1, 3)),
    _Layout("(B, L, H, D)", (0, 1, 2, 3)),
    _Layout("(H, L, D)", (1, 0, 2), has_samples=False),
    _Layout("(L, H, D)", (0, 1, 2), has_samples=False),
)


def with_projections(function: Any, notes: list[str]) -> Any:
    """Return a model in which a function attends between projections; None where it is no such function.

    It is one of torch, or a function with its parameters. A function that only attends is an operation.
    """
    try:
        takes = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if not have_roles([one.name for one in takes if one.default is Parameter.empty]):
        return None
    if not more_than_attention(function):
        return None
    for arrays in _frameworks(function):
        for layout, others in _ways(takes):
            call = _Call(function, takes, layout, others, arrays)
            if _attends(call):
                notes.append(_words(call))
                return _of_torch(call) if arrays.name == "torch" else _of_arrays(call)
    return None


def _words(call: _Call) -> str:
    given = [f"`{name}` {_shown(value)}" for name, value in call.others.items()]
    left = [f"`{one.name}` {one.default}, as by default" for one in call.takes if _is_shown(one.default)]
    return (
        "It was read in a layer, between projections of random numbers, since it does more than attend: it was given "
        f"{', '.join([f'heads as {call.layout.words}', *given, *left])}"
    )


def _is_shown(default: Any) -> bool:
    return default is None or isinstance(default, bool | int | float | str)


def _shown(value: _Given) -> str:
    if isinstance(value, _Learned):
        return f"numbers {value.shape}, which it learns"
    return f"numbers {value(_LENGTH).shape}".replace(f"{_LENGTH}", "L") if callable(value) else f"{value}"


def _frameworks(function: Any) -> Iterator[ArrayFramework]:
    for name in dict.fromkeys((*frameworks_used(function), "numpy")):
        if name in _FRAMEWORKS and name in sys.modules:
            try:
                yield framework(name)
            except LoadError:
                continue


def _ways(takes: list[Parameter]) -> Iterator[tuple[_Layout, dict[str, _Given]]]:
    """Yield layouts, with what the arguments are that must be given besides queries, keys and values."""
    needed = [one.name for one in takes if one.default is Parameter.empty and role_of(one.name) is None]
    known = [[value for names, value in _GIVEN if names.search(name)] for name in needed]
    for values in product(*known):
        yield from ((layout, dict(zip(needed, values, strict=True))) for layout in _LAYOUTS)


def _moved(array: Any, axes: tuple[int, ...]) -> Any:
    return array.permute(*axes) if hasattr(array, "permute") else array.transpose(axes)


@dataclass(frozen=True)
class _Call:
    """How a function is called: its parameters, the layout of heads, and what it is given besides."""

    function: Any
    takes: Sequence[Parameter]
    layout: _Layout
    others: Mapping[str, _Given]
    arrays: ArrayFramework

    def of(self, heads: Mapping[str, Any], learned: Mapping[str, Any]) -> Any:
        """Return the first array of the result for queries, keys and values (B, L, H, D), or (L, H, D), as these."""
        length = shape_of(heads["query"])[-3]
        given = {role: self.layout.laid_out(one) for role, one in heads.items()}
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for one in self.takes:
            role = role_of(one.name)
            value = given[role] if role is not None else learned.get(one.name, self._other(one, length))
            if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                positional.append(value)
            elif one.kind is Parameter.KEYWORD_ONLY:
                keywords[one.name] = value
        result = self.function(*positional, **keywords)
        if isinstance(result, Mapping):
            result = next(iter(result.values()))
        result = result[0] if isinstance(result, tuple | list) else result
        if not self.arrays.is_array(result) or shape_of(result) != shape_of(given["query"]):
            raise ValueError("it returns no array of the shape of the queries")
        return self.layout.back(result)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return random numbers for what a function is given that a model learns."""
        numbers = np.random.default_rng(_SEED)
        shapes = {name: value.shape for name, value in self.others.items() if isinstance(value, _Learned)}
        return {name: 1.0 + 0.5 * numbers.normal(size=shape) for name, shape in shapes.items()}

    def _other(self, one: Parameter, length: int) -> Any:
        value = self.others.get(one.name, one.default)
        if not callable(value) or one.name not in self.others:
            return value
        made = np.asarray(value(length))
        return self.arrays.from_numpy(*((made.astype(np.float32), "float32") if made.dtype.kind == "f" else (made,)))


def _attends(call: _Call) -> bool:
    """Return whether a function attends: what one head is given moves that head alone, and its other positions too.

    Queries, keys and values of other samples move nothing, and each result is as large as the queries.
    """
    numbers = np.random.default_rng(_SEED)
    shape = (_SAMPLES, _LENGTH, _HEADS, _WIDTH) if call.layout.has_samples else (_LENGTH, _HEADS, _WIDTH)
    heads = {role: numbers.normal(size=shape) for role in ROLES}
    plain = _result(call, heads)
    if plain is None or not np.isfinite(plain).all():
        return False
    for role in ROLES:
        changed = heads[role].copy()
        changed[..., _AT, _HEAD, :] += 1.0
        if call.layout.has_samples:
            changed[0] = heads[role][0]
        other = _result(call, {**heads, role: changed})
        if other is None:
            return False
        moved = (np.abs(other - plain) > _SAME * np.abs(plain).max()).any(axis=-1)
        of_sample = moved[-1] if call.layout.has_samples else moved
        stays = not np.delete(of_sample, _HEAD, axis=1).any() and not (call.layout.has_samples and moved[0].any())
        spreads = role == "query" or bool(np.delete(of_sample[:, _HEAD], _AT).any())
        if not of_sample.any() or not stays or not spreads:
            return False
    return True


def _result(call: _Call, heads: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return what a function gives for heads, laid out as these; None where it fails or gives another shape."""
    try:
        with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            given, learned = (
                {name: call.arrays.from_numpy(one.astype(np.float32), "float32") for name, one in arrays.items()}
                for arrays in (heads, call.parameters())
            )
            result = call.of(given, learned)
            return call.arrays.to_numpy(result)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _merged(call: _Call, projected: Mapping[str, Any], learned: Mapping[str, Any]) -> Any:
    heads = {role: reshaped(one, (*shape_of(one)[:-1], _HEADS, _WIDTH)) for role, one in projected.items()}
    result = call.of(heads, learned)
    return reshaped(result, (*shape_of(result)[:-2], _D_MODEL))


def _of_torch(call: _Call) -> Any:
    import torch
    from torch import nn

    class AttentionLayer(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            for name in _PROJECTIONS:
                self.add_module(f"{name}_projection", nn.Linear(_D_MODEL, _D_MODEL, bias=False))
            for name, numbers in call.parameters().items():
                self.register_parameter(name, nn.Parameter(torch.from_numpy(numbers.astype(np.float32))))

        def forward(self, x: Any) -> Any:
            projected = {role: getattr(self, f"{role}_projection")(x) for role in ROLES}
            learned = {name: getattr(self, name) for name in call.parameters()}
            return self.output_projection(_merged(call, projected, learned))

    AttentionLayer.__name__ = AttentionLayer.__qualname__ = getattr(call.function, "__name__", "AttentionLayer")
    AttentionLayer.__module__ = getattr(call.function, "__module__", __name__)
    return AttentionLayer().eval()


def _of_arrays(call: _Call) -> tuple[Any, dict[str, Any]]:
    numbers = np.random.default_rng(_SEED)
    matrices = {name: numbers.normal(size=(_D_MODEL, _D_MODEL)) / _D_MODEL**0.5 for name in _PROJECTIONS}
    every = {**call.parameters(), **matrices}
    parameters = {name: call.arrays.from_numpy(one.astype(np.float32), "float32") for name, one in every.items()}

    def layer(parameters: Mapping[str, Any], x: Any) -> Any:
        learned = {name: one for name, one in parameters.items() if name not in _PROJECTIONS}
        return _merged(call, {role: x @ parameters[role] for role in ROLES}, learned) @ parameters["output"]

    layer.__name__ = layer.__qualname__ = getattr(call.function, "__name__", "layer")
    layer.__module__ = getattr(call.function, "__module__", __name__)
    return layer, parameters
