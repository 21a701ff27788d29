"""The inputs of attention between given queries, keys and values, plain, grouped, or weights only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled
from veriformer.conformance_tests.operations.attention.bounds import (
    AttentionBound,
    AttentionTerms,
    attention_weights_bound,
)
from veriformer.conformance_tests.operations.attention.case import ADDITIONS, AttentionCase, MaskShape, Window
from veriformer.conformance_tests.operations.attention.empty_rows import softmax_over_visible
from veriformer.conformance_tests.operations.attention.masks import draw_mask
from veriformer.conformance_tests.rounding.precision import Precision

WITHOUT_VALUES = ("attention_weights", "attention_weights_backward")
_COSTLY = 2**14
# What of a full bias is a bias of another shape.
_OF_SHAPE: Mapping[MaskShape, Any] = MappingProxyType(
    {
        "full": np.s_[:],
        "shared_by_heads": np.s_[:, :1],
        "shared_by_batch": np.s_[:1],
        "lengths": np.s_[0, 0],
        "keys_only": np.s_[:, :1, :1],
    }
)


@dataclass(frozen=True, eq=False)
class AttentionInputs(SampledInputs):
    """Queries, keys, values and masks; axes are batch, head, length, width.

    `key` and `value` have fewer heads than `query` for grouped attention. Every method that changes something returns
    new inputs with mask and bias changed accordingly, so that a law reads like its formula.
    """

    operation: str
    dtype: str
    query: Array
    key: Array
    value: Array | None
    mask: Array | None = None
    bias: Array | None = None
    is_causal: bool = False
    scale: float | None = None
    window: Window | None = None
    softcap: float | None = None
    sinks: Array | None = None

    @classmethod
    def given(cls, operation: str, dtype: str, arguments: Mapping[str, Any]) -> Self:
        """Return inputs made from given arguments; the weights of attention have no values."""
        return cls(operation, dtype, **{"value": None, **arguments})

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        generator = np.random.default_rng(case.seed)
        batch, keys = case.batch, (case.batch, case.kv_heads, case.key_length)

        def values(*shape: int) -> Array:
            return filled(generator, case, shape, amplified=False)

        query = filled(generator, case, (batch, case.heads, case.query_length, case.head_width))
        key = filled(generator, case, (*keys, case.head_width))
        value = None if operation in WITHOUT_VALUES else values(*keys, case.value_width)
        mask = draw_mask(case, generator)
        bias = values(batch, case.heads, case.query_length, case.key_length) if case.bias else None
        if bias is not None:
            bias = bias[_OF_SHAPE[case.bias_shape]]
        sinks = values(1, case.heads)[0] if case.sinks else None
        optional = (case.is_causal, case.scale, case.window, case.softcap, sinks)
        return cls(operation, case.dtype, query, key, value, mask, bias, *optional)

    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"query": self.query, "key": self.key, "value": self.value}
        arguments |= {"mask": self.mask, "bias": self.bias, "scale": self.scale}
        arguments |= {"window": self.window, "softcap": self.softcap, "sinks": self.sinks}
        arguments["is_causal"] = self.is_causal or None
        return {name: value for name, value in arguments.items() if value is not None}

    @property
    def batch(self) -> int:
        """The number of samples."""
        return int(self.query.shape[0])

    @property
    def heads(self) -> int:
        """The number of query heads."""
        return int(self.query.shape[1])

    @property
    def group_size(self) -> int:
        """How many query heads share a key/value head."""
        return self.heads // int(self.key.shape[1])

    @property
    def query_length(self) -> int:
        """L."""
        return int(self.query.shape[2])

    @property
    def key_length(self) -> int:
        """S."""
        return int(self.key.shape[2])

    @property
    def result_shape(self) -> tuple[int, ...]:
        width = self.key_length if self.value is None else int(self.value.shape[-1])
        return (*self.query.shape[:3], width)

    def obeying(self, conventions: Conventions) -> Self:
        """Return the inputs without what a declared convention drops when mask (or bias) and causal flag meet."""
        if not self.is_causal or (self.mask is None and self.bias is None):
            return self
        if conventions["causal_with_mask"] == "mask_ignored":
            return replace(self, mask=None, bias=None)
        return replace(self, is_causal=False) if conventions["causal_with_mask"] == "causal_ignored" else self

    def visible(self, conventions: Conventions) -> Array:
        """Return which keys each query may see, (B, H, L, S), the causal flag included."""
        obeyed = self.obeying(conventions)
        return reference.visible_keys(
            (*self.query.shape[:3], self.key_length),
            mask=obeyed.mask,
            bias=obeyed.bias,
            is_causal=obeyed.is_causal,
            window=obeyed.window,
            causal_alignment=conventions["causal_alignment"],
            window_counting=conventions.get("window_counting", "inclusive"),
        )

    def unseen_keys(self, conventions: Conventions) -> Array:
        """Return which keys no query may see, (B, key/value heads, S)."""
        return self.not_shown(self.visible(conventions))

    def not_shown(self, visible: Array) -> Array:
        """Return which keys are shown to no query, (B, key/value heads, S), by what each sees, (B, H, L, S)."""
        groups = visible.any(axis=2).reshape(self.batch, -1, self.group_size, self.key_length)
        return np.asarray(~groups.any(axis=2))

    def with_keys_replaced(self, where: Array, content: float, *, keys: bool = True, values: bool = True) -> Self:
        """Return inputs in which the keys and values at `where` (B, key/value heads, S) hold `content`."""
        key = np.where(where[..., None], content, self.key) if keys else self.key
        value = self.value
        if values and value is not None:
            value = np.where(where[..., None], content, value)
        return replace(self, key=key, value=value)

    def take_samples(self, index: Array) -> Self:
        return self._mapped(lambda array: array[index], lambda table: _take(table, index, 0))

    def take_heads(self, index: Array) -> Self:
        """Return the query heads at `index`, which must keep groups together, and the heads that they read."""
        kv_index = index[:: self.group_size] // self.group_size
        taken = self._mapped(lambda array: array, lambda table: _take(table, index, 1))
        value = None if self.value is None else self.value[:, kv_index]
        sinks = None if self.sinks is None else self.sinks[index]
        return replace(taken, query=self.query[:, index], key=self.key[:, kv_index], value=value, sinks=sinks)

    def take_queries(self, index: Array) -> Self:
        """Return the queries at `index`; a window would be counted from other positions then."""
        taken = self._mapped(lambda array: array, lambda table: _take(table, index, -2))
        return replace(taken, query=self.query[:, :, index])

    def take_keys(self, index: Array) -> Self:
        """Return the keys and values at `index`: a permutation, a selection, or a repetition."""
        taken = self._mapped(lambda array: array, lambda table: _take(table, index, -1))
        value = None if self.value is None else self.value[:, :, index]
        return replace(taken, key=self.key[:, :, index], value=value)

    def take_tokens(self, index: Array) -> Self:
        """Return the positions at `index` of a self-attention: queries, keys and values."""
        return self.take_queries(index).take_keys(index)

    def _mapped(self, array: Callable[[Array], Array], table: Callable[[Array], Array]) -> Self:
        return replace(
            self,
            query=array(self.query),
            key=array(self.key),
            value=None if self.value is None else array(self.value),
            mask=None if self.mask is None else table(self.mask),
            bias=None if self.bias is None else table(self.bias),
        )

    def result_axis(self, name: str) -> int:
        """Return the axis of the result that stands for `batch`, `heads` or `queries`."""
        return {"batch": 0, "heads": 1, "queries": 2, "keys": 3}[name]

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result under the conventions and its error bound.

        A query that may see no key is not judged by `judged`: laws about such rows compare all.
        """
        precision = Precision.under(self.dtype, conventions)
        visible = self.visible(conventions)
        terms = self._terms(visible, conventions)
        value = terms.weights if terms.output is None else terms.output
        empty = ~visible.any(axis=-1, keepdims=True)
        if conventions["empty_row"] == "nan" and self.sinks is None:
            value = np.where(empty, np.nan, value)
        judged = np.broadcast_to(~empty, value.shape)
        if terms.output is None:
            return bounded(value, lambda: attention_weights_bound(terms, precision), precision, self.dtype, judged)
        bound, factor = AttentionBound(terms, precision), precision.with_reference
        # The whole takes the distance of every value from every output. Most cases are so small that it costs little.
        is_costly = self.query_length * self.key_length * value.shape[-1] > _COSTLY
        floors = (lambda: bound.of_sums * factor, lambda: bound.without_distances * factor) if is_costly else ()
        return bounded(value, lambda: bound.whole, precision, self.dtype, judged, floors=floors)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of one that may not scale and sees every key of any head: see `Trial.equal`."""
        unscaled = 1.0 if self.scale is None else max(self.scale, 1.0)
        # Whose own gradient is asked for has to stay.
        sinks = self.sinks if ADDITIONS.get(self.operation) == "sinks" else None
        loosest = replace(self, mask=None, is_causal=False, scale=unscaled, window=None, softcap=None, sinks=sinks)
        if self.bias is not None:
            loosest = replace(loosest, bias=np.where(np.isneginf(self.bias), 0.0, self.bias))
        # One that does scale is looser where what is not scaled would leave a key no weight at all.
        scales = (loosest, replace(loosest, scale=self.scale))
        if self.group_size == 1:
            return np.asarray(np.maximum(*(inputs.expected(conventions).allowed for inputs in scales)))
        # Heads that are mapped wrongly meet keys and values of any other head, and may be at any other's place.
        turned = (inputs._with_heads_turned(by) for inputs in scales for by in range(self.key.shape[1]))
        return self.in_any_order_of_heads(inputs.expected(conventions).allowed for inputs in turned)

    def in_any_order_of_heads(self, errors: Iterable[Array]) -> Array:
        """Return what an error of any head may be, from errors of results: the largest over heads."""
        largest = np.max(list(errors), axis=(0, 2), keepdims=True)[0]
        return np.broadcast_to(largest, self.result_shape)

    def _with_heads_turned(self, by: int) -> Self:
        value = None if self.value is None else np.roll(self.value, by, axis=1)
        return replace(self, key=np.roll(self.key, by, axis=1), value=value)

    def empty_rows(self, conventions: Conventions) -> Array:
        """Return which queries may see no key, (B, H, L)."""
        return np.asarray(~self.visible(conventions).any(axis=-1))

    def _terms(self, visible: Array, conventions: Conventions) -> AttentionTerms:
        key = np.repeat(self.key, self.group_size, axis=1)
        value = None if self.value is None else np.repeat(self.value, self.group_size, axis=1)
        bias = self.obeying(conventions).bias
        logits = reference.attention_logits(self.query, key, bias=bias, scale=self.scale, softcap=self.softcap)
        scale = self.query.shape[-1] ** -0.5 if self.scale is None else self.scale
        if self.sinks is None:
            logits, visible, weights = softmax_over_visible(logits, visible, conventions)
        else:
            weights = reference.softmax_beside_sinks(logits, visible, self.sinks)
            logits = np.where(visible, logits, -np.inf)
        output = None if value is None else reference.weighted_sum(weights, value, visible)
        return AttentionTerms(
            self.query, key, value, scale, logits, weights, output, softcap=self.softcap, sinks=self.sinks
        )


def _take(table: Array, index: Array, axis: int) -> Array:
    """Index one axis of a mask or bias, unless that axis is broadcast or (for rank 2) missing."""
    if table.ndim < 4 and axis >= 0:
        return table
    return table if table.shape[axis] == 1 else np.take(table, index, axis=axis)
