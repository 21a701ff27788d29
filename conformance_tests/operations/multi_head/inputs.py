"""The inputs of multi-head attention: x, the context, and the projections."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, filled, is_exact, positive_fill, round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.masks import draw_mask
from veriformer.conformance_tests.operations.multi_head.estimates import multi_head_attended
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision

# Half of the largest number of float16: rounding must not carry a logit beyond it.
_LARGEST_LOGIT = 32752.0


@dataclass(frozen=True)
class Projections:
    """The weights of multi-head attention, by the interface's names; a bias may be None."""

    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array
    b_q: Array | None = None
    b_k: Array | None = None
    b_v: Array | None = None
    b_o: Array | None = None

    @classmethod
    def draw(cls, case: AttentionCase, generator: np.random.Generator) -> Projections:
        """Return projections of the case's palette, no two alike; E = heads · head width."""
        width = case.heads * case.head_width
        sizes = (
            case.heads * case.head_width,
            case.kv_heads * case.head_width,
            case.kv_heads * case.value_width,
        )
        # Weights of unit size would let logits grow with the width squared.
        damping = 1.0 if is_exact(case) else width**-0.5

        def weight(*shape: int) -> Array:
            palette = case.palette if is_exact(case) else "normal"
            return round_to_dtype(fill(generator, shape, palette) * damping, case.dtype)

        w_q, w_k, w_v = (weight(width, size) for size in sizes)
        w_o = weight(case.heads * case.value_width, width)
        if not case.biases:
            return cls(w_q, w_k, w_v, w_o)
        b_q, b_k, b_v, b_o = (positive_fill(generator, (size,)) for size in (*sizes, width))
        return cls(w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o)

    def with_logits_in_range(self, x: Array, context: Array, heads: int, kv_heads: int) -> Projections:
        """Return projections with which no inner product of a query and a key leaves float16. A kernel's result on
        infinite logits says nothing about its formula. The queries become smaller by a power of two, which rounds
        nothing.
        """
        query = reference.split_heads(x @ self.w_q + (0.0 if self.b_q is None else self.b_q), heads)
        key = reference.split_heads(context @ self.w_k + (0.0 if self.b_k is None else self.b_k), kv_heads)
        products = query @ np.repeat(key, heads // kv_heads, axis=1).swapaxes(-1, -2)
        excess = max(float(np.abs(products).max(initial=0.0)) / _LARGEST_LOGIT, 1.0)
        smaller = 2.0 ** -math.ceil(math.log2(excess))
        return replace(self, w_q=self.w_q * smaller, b_q=None if self.b_q is None else self.b_q * smaller)

    def take_heads(self, index: Array, heads: int) -> Projections:
        """Return the projections of the heads at `index`; as many key/value heads as query heads are assumed."""

        def columns(matrix: Array | None) -> Array | None:
            return None if matrix is None else np.concatenate([np.split(matrix, heads, axis=-1)[i] for i in index], -1)

        def required(matrix: Array) -> Array:
            return np.concatenate([np.split(matrix, heads, axis=-1)[i] for i in index], axis=-1)

        rows = np.concatenate([np.split(self.w_o, heads, axis=0)[i] for i in index], axis=0)
        return Projections(
            required(self.w_q), required(self.w_k), required(self.w_v), rows,
            columns(self.b_q), columns(self.b_k), columns(self.b_v), self.b_o,
        )  # fmt: skip

    def repeated(self, kv_heads: int, times: int) -> Projections:
        """Return projections in which each key/value head stands `times` times in a row."""

        def columns(matrix: Array | None) -> Array | None:
            if matrix is None:
                return None
            parts = matrix.reshape(*matrix.shape[:-1], kv_heads, -1)
            return np.repeat(parts, times, axis=-2).reshape(*matrix.shape[:-1], -1)

        key, value = columns(self.w_k), columns(self.w_v)
        if key is None or value is None:
            raise ValueError("projections always have key and value matrices")
        return replace(self, w_k=key, w_v=value, b_k=columns(self.b_k), b_v=columns(self.b_v))


@dataclass(frozen=True, eq=False)
class ProjectedInputs(Inputs):
    """The sources of queries (`x`) and of keys and values (`context`), and the projections."""

    dtype: str
    x: Array
    context: Array
    weights: Projections
    num_heads: int
    num_kv_heads: int
    mask: Array | None = None
    is_causal: bool = False
    name_kv_heads: bool = False

    @classmethod
    def given(cls, dtype: str, arguments: Mapping[str, Any]) -> Self:
        """Return inputs made from given arguments; the weights are a mapping."""
        of_all_heads = {"num_kv_heads": arguments["num_heads"]}
        return cls(dtype=dtype, **{**of_all_heads, **arguments, "weights": Projections(**arguments["weights"])})

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes."""
        return cls(**cls._drawn(operation, case))

    @classmethod
    def _drawn(cls, operation: str, case: AttentionCase) -> dict[str, Any]:
        """Return the members that a case describes, by name."""
        if not operation.startswith("multi_head_attention"):
            raise ValueError(f"{operation} does not take projections")
        generator = np.random.default_rng(case.seed)
        width = case.heads * case.head_width

        def tokens(length: int) -> Array:
            return filled(generator, case, (case.batch, length, width))

        x = tokens(case.query_length)
        # Libraries have a separate path for self-attention, which they detect if x and context are one array.
        is_self_attention = case.query_length == case.key_length and (case.itself or case.seed % 2 == 1)
        context = x if is_self_attention else tokens(case.key_length)
        weights = Projections.draw(case, generator)
        if case.dtype == "float16":
            weights = weights.with_logits_in_range(x, context, case.heads, case.kv_heads)
        mask = draw_mask(case, generator)
        return {
            "dtype": case.dtype,
            "x": x,
            "context": context,
            "weights": weights,
            "num_heads": case.heads,
            "num_kv_heads": case.kv_heads,
            "mask": mask,
            "is_causal": case.is_causal,
            "name_kv_heads": case.kv_heads != case.heads,
        }

    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"x": self.x, "context": self.context, "weights": self.weights}
        arguments |= {"num_heads": self.num_heads, "mask": self.mask, "is_causal": self.is_causal or None}
        arguments["num_kv_heads"] = self.num_kv_heads if self.name_kv_heads else None
        return {name: value for name, value in arguments.items() if value is not None}

    @property
    def batch(self) -> int:
        """The number of samples."""
        return int(self.x.shape[0])

    @property
    def heads(self) -> int:
        """The number of query heads."""
        return self.num_heads

    @property
    def query_length(self) -> int:
        """L."""
        return int(self.x.shape[1])

    @property
    def key_length(self) -> int:
        """S."""
        return int(self.context.shape[1])

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.x.shape

    def obeying(self, conventions: Conventions) -> Self:
        """Return the inputs without the argument that a declared convention drops when mask and causal flag meet."""
        if not self.is_causal or self.mask is None:
            return self
        if conventions["causal_with_mask"] == "mask_ignored":
            return replace(self, mask=None)
        return replace(self, is_causal=False) if conventions["causal_with_mask"] == "causal_ignored" else self

    def visible(self, conventions: Conventions) -> Array:
        """Return which keys each query may see, (B, H, L, S), the causal flag included."""
        obeyed = self.obeying(conventions)
        return reference.visible_keys(
            (self.batch, self.num_heads, self.query_length, self.key_length),
            mask=obeyed.mask,
            is_causal=obeyed.is_causal,
            causal_alignment=conventions["causal_alignment"],
        )

    def unseen_keys(self, conventions: Conventions) -> Array:
        """Return which context positions no query of any head may see, (B, S)."""
        return np.asarray(~self.visible(conventions).any(axis=(1, 2)))

    def empty_rows(self, conventions: Conventions) -> Array:
        """Return which queries may see no key in at least one head, (B, L)."""
        return np.asarray(np.any(~np.any(self.visible(conventions), axis=-1), axis=1))

    def with_keys_replaced(self, where: Array, content: float, *, keys: bool = True, values: bool = True) -> Self:
        """Return inputs whose context holds `content` at `where` (B, S); it feeds both keys and values."""
        if not (keys and values):
            raise ValueError("the context feeds keys and values: they cannot be replaced apart")
        return replace(self, context=np.where(where[..., None], content, self.context))

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""
        x = self.x[index]
        # A context that is x itself stays that.
        context = x if self.context is self.x else self.context[index]
        return replace(self, x=x, context=context, mask=self._table(index, 0))

    def take_heads(self, index: Array) -> Self:
        """Return inputs whose heads, with their weights, are in the order of `index`."""
        return replace(self, weights=self.weights.take_heads(index, self.num_heads), mask=self._table(index, 1))

    def take_queries(self, index: Array) -> Self:
        """Return the queries at `index`."""
        return replace(self, x=self.x[:, index], mask=self._table(index, -2))

    def take_keys(self, index: Array) -> Self:
        """Return the context positions at `index`."""
        return replace(self, context=self.context[:, index], mask=self._table(index, -1))

    def take_tokens(self, index: Array) -> Self:
        """Return the positions at `index` of a self-attention."""
        taken = self.take_queries(index).take_keys(index)
        return replace(taken, context=taken.x) if self.context is self.x else taken

    def _table(self, index: Array, axis: int) -> Array | None:
        mask = self.mask
        if mask is None or (mask.ndim < 4 and axis >= 0) or mask.shape[axis] == 1:
            return mask
        return np.take(mask, index, axis=axis)

    def result_axis(self, name: str) -> int:
        """Return the axis of the result that stands for `batch` or `queries`."""
        return {"batch": 0, "queries": 1}[name]


@dataclass(frozen=True, eq=False)
class MultiHeadInputs(ProjectedInputs, SampledInputs):
    """Inputs of multi-head attention."""

    operation: ClassVar[str] = "multi_head_attention"

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result under the conventions and its error bound, propagated through the projections."""
        precision = Precision.under(self.dtype, conventions)
        obeyed = self.obeying(conventions)
        value = reference.multi_head_attention(
            self.x,
            self.context,
            reference.MultiHeadWeights(**vars(self.weights)),
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            mask=obeyed.mask,
            is_causal=obeyed.is_causal,
            causal_alignment=conventions["causal_alignment"],
            empty_row=conventions["empty_row"],
        )
        judged = np.broadcast_to(~self.empty_rows(conventions)[..., None], value.shape)
        return bounded(value, lambda: self._bound(conventions, precision), precision, self.dtype, judged)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every key: see `Trial.equal`."""
        return replace(self, mask=None, is_causal=False).expected(conventions).allowed

    def _bound(self, conventions: Conventions, precision: Precision) -> Array:
        return multi_head_attended(
            Estimate.exact(self.x),
            Estimate.exact(self.context),
            self.weights,
            self.visible(conventions),
            precision,
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            empty_row=conventions["empty_row"],
        ).error
