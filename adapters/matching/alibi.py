"""ALiBi as people write it: the bias, the slopes alone, or an attention that adds it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments, Around, AsItIs, Inner, Layout, of_heads
from veriformer.adapters.matching.names import Taking, is_called, words_of
from veriformer.adapters.matching.namespaces import stacked
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.texts import tree_of
from veriformer.spec.operations import OPERATIONS

_INPUTS = ("query", "key", "value")
_RECORD = OPERATIONS["scaled_dot_product_attention"]
# The bias is computed from weights, which need the precision.
_PRECISE = ("numpy", "torch")


def inputs_among(names: Sequence[str]) -> dict[str, str]:
    """Return which of some names are the queries, keys and values of an attention; empty where one is missing."""
    found = {role: name for role in _INPUTS for name in names if is_called(name, _RECORD.parameter(role))}
    return found if len(found) == len(_INPUTS) else {}


def adds_biases(function: Callable[..., Any], name: str) -> bool:
    """Return whether an attention adds ALiBi's biases itself: its name says so, or what it calls is called so."""
    tree = tree_of(function)
    called = (one.func for one in ast.walk(tree or ast.Module([], [])) if isinstance(one, ast.Call))
    names = [one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in called]
    return any("alibi" in words_of(one) for one in (name, *names))


def is_attention(takings: Sequence[Taking]) -> bool:
    """Return whether a function takes queries, keys and values, and need not be given more."""
    found = inputs_among([one.name for one in takings])
    return bool(found) and all(one.has_default or one.name in found.values() for one in takings)


def forms(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of ALiBi: of two lengths, of one, of none, or what an attention adds to its logits."""
    inputs = inputs_among(tuple(found.sources))
    equal = ("alibi_bias.unequal_lengths",)
    if inputs:
        if framework.name in _PRECISE:
            given = {name: _input(role) for role, name in inputs.items()}
            words = ("the bias that it adds, computed from its weights",)
            yield replace(form, sources={**form.sources, **given}, features=(), limitations=equal, words=words)
    elif "key_length" not in found.missing:
        yield form
    elif "query_length" not in found.missing:
        yield replace(form, after=_of_one_length, limitations=equal)
    elif "num_heads" not in found.missing:
        yield replace(form, after=_of_slopes(framework), words=("its slopes",))


def _input(role: str) -> Callable[[Arguments], Any]:
    return lambda arguments: arguments[role]


def _of_one_length(result: Any, arguments: Arguments) -> Any:
    _require_equal(arguments)
    return result


def _require_equal(arguments: Arguments) -> None:
    if arguments["query_length"] != arguments["key_length"]:
        raise ValueError("the function takes one length: there are as many queries as keys")


def _of_slopes(framework: ArrayFramework) -> Callable[[Any, Arguments], Any]:
    def bias(result: Any, arguments: Arguments) -> Any:
        slopes = framework.to_numpy(result) if framework.is_array(result) else np.asarray(result)
        if slopes.size != arguments["num_heads"]:
            raise ValueError("there is not one slope for each head")
        queries, keys = arguments["query_length"], arguments["key_length"]
        distance = np.arange(keys)[None] - (np.arange(queries)[:, None] + keys - queries)
        values = slopes.astype(np.float64).reshape(-1, 1, 1) * distance
        return framework.from_numpy(values, "float32")

    return bias


def layouts(found: Taken, framework: ArrayFramework) -> list[Layout]:
    """Return the layouts of ALiBi: those of attention where it is one."""
    own: list[Layout] = [AsItIs()]
    if inputs_among(tuple(found.sources)):
        own = [ByWeights(one, framework) for one in of_heads(_INPUTS)]
    return own


@dataclass(frozen=True)
class ByWeights(Around):
    """A layout in which the bias of an attention comes from its weights: of zero queries, and values of one each."""

    framework: ArrayFramework

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the bias, whose entries after the query are those before it with the other sign."""
        _require_equal(arguments)
        heads, length = arguments["num_heads"], arguments["query_length"]
        zeros = np.zeros((1, heads, length, length))
        given = {"query": zeros, "key": zeros, "value": zeros + np.eye(length)}
        arrays = {name: self.framework.from_numpy(array, "float64") for name, array in given.items()}
        weights = self.framework.to_numpy(self.layout.call(inner, {**arguments, **arrays}))
        if weights.shape != zeros.shape or weights.dtype != np.float64:
            raise ValueError("its result has another shape or another precision than its values")
        visible = np.tril(np.ones((length, length), dtype=bool))
        if not (weights[..., visible] > 0).all():
            raise ValueError("a weight vanishes or is none, so that it tells no bias")
        logarithms = np.log(np.where(visible, weights[0], 1.0))
        bias = np.where(visible, logarithms - np.diagonal(logarithms, axis1=1, axis2=2)[:, :, None], 0.0)
        return self.framework.from_numpy(bias - np.swapaxes(bias, 1, 2), "float32")


@dataclass(frozen=True)
class PowersOfTwo(Around):
    """A layout of ALiBi that is defined for powers of two of heads: other numbers have slopes of two of them."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the bias; of other numbers of heads it is put together as the paper's code does."""
        heads = arguments["num_heads"]
        if heads & (heads - 1) == 0:
            return self.layout.call(inner, arguments)
        near = 1 << (heads.bit_length() - 1)
        first, second = (self.layout.call(inner, {**arguments, "num_heads": one}) for one in (near, 2 * near))
        return stacked([*(first[head] for head in range(near)), *(second[2 * head] for head in range(heads - near))])
