"""Questions that tell fused numerics from eager ones: calls made of rows that show what was rounded to 16 bits.

Every feature of an operation has a call of its own, since libraries answer with another kernel where there is a mask,
a bias, or a single query. Six rows share a head: each has two components of queries and keys and one of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.conventions.asking import LAYERS, Answer, Asking, fitting
from veriformer.conformance_tests.conventions.evidence import Evidence, difference_words
from veriformer.conformance_tests.conventions.questions.rounding_rows import HEAD_WIDTH, Result, Rows, telling_rows
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.attention_backward.inputs import WITH_VALUES, BackwardInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs, Projections
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.representable import stored

SIXTEEN_BITS = ("bfloat16", "float16")
OF: dict[str, Result] = {
    "softmax": "softmax",
    "scaled_dot_product_attention": "output",
    "grouped_query_attention": "output",
    "attention_weights": "weights",
    "multi_head_attention": "output",
    "scaled_dot_product_attention_backward": "gradients",
    "grouped_query_attention_backward": "gradients",
}
_KEYS, _LONG = 16, 80
_ROWS_OF_A_HEAD = 6
# Other keys are this far below: their weight is nothing, rounded or not.
_FAR = 64.0


def softmax_dtype(asking: Asking) -> Answer:
    """Ask attention and layers in float64, where a softmax in float32 shows."""
    if asking.operation in ("softmax", "softmax_backward"):
        return Answer(None)
    if "float64" not in asking.subject.implementation.dtypes:
        return Answer(None, reason="it is asked in float64, which is not among the dtypes")
    is_layer = asking.operation in LAYERS
    inputs = asking.layer("float64") if is_layer else replace(asking.attention(5, 7), dtype="float64")
    result = asking.result(inputs)
    if result is None:
        return Answer(())
    expected = asking.expected(inputs)
    exact, fits = expected["input"], fitting(result, expected)
    if "input" in fits:
        # What is as exact as the input's precision allows was not computed in a narrower one.
        fits = ("input", "at_least_float32")
    came = difference_words(result, exact.value, exact.judged)
    came += f"; rounding in {inputs.dtype} explains {exact.allowed.max():.2g}"
    return Answer(fits, (asking.evidence(inputs, came, fits, result),))


def numerics_questions(
    operation: str, dtypes: Iterable[str], features: Iterable[str], *, seed: int = 7, few_shapes: bool = False
) -> Iterator[Inputs]:
    """Yield the questions put to an operation with these keywords, in each of the dtypes that has 16 bits."""
    for dtype in dtypes:
        if dtype in SIXTEEN_BITS and operation in OF:
            parts = [rows for rows in telling_rows(dtype, OF[operation], seed).values() if len(rows.key)]
            yield from _questions(operation, dtype, Rows.joined(parts), frozenset(features), few_shapes)


def numerics(asking: Asking) -> Answer:
    """Return fused where every result is within what that allows, else what allows the first result that is not."""
    implementation = asking.subject.implementation
    few = implementation.framework.compiles_per_shape
    evidence: list[Evidence] = []
    for inputs in numerics_questions(asking.operation, implementation.dtypes, asking.subject.features, few_shapes=few):
        result = asking.result(inputs)
        if result is None:
            return Answer(None, tuple(evidence))
        fits, words = numerics_shown(inputs, result, asking.subject.conventions)
        evidence.append(asking.evidence(inputs, words, fits))
        if "fused" not in fits:
            return Answer(fits or None, tuple(evidence))
    if not evidence:
        return Answer(None, reason="it is asked in float16 and bfloat16, which are not among the dtypes")
    return Answer(("fused",), tuple(evidence))


def _questions(operation: str, dtype: str, rows: Rows, features: frozenset[str], few_shapes: bool) -> Iterator[Inputs]:
    if operation == "softmax":
        far = stored(rows.logits[:, :1] - _FAR, Precision.of(dtype))
        yield SoftmaxInputs(dtype, _keys_in_a_row(rows, rows.logits, far, _KEYS)[None])
        return
    plain = _Heads.of(operation, dtype, rows)
    yield plain.asked(operation, dtype)
    yield _Heads.of(operation, dtype, rows, rows_of_a_head=1, queries=1).asked(operation, dtype)
    if not few_shapes:
        yield _Heads.of(operation, dtype, rows, keys=_LONG).asked(operation, dtype)
    for name, value in plain.neutral().items():
        if name in features:
            yield plain.asked(operation, dtype, **{name: value})


def _keys_in_a_row(rows: Rows, amounts: Array, rest: Array, length: int) -> Array:
    """Return what each key of each row has, (N, length): three amounts by group, then the rest."""
    result = np.broadcast_to(rest, (len(amounts), length)).copy()
    ends = np.cumsum(rows.count, axis=-1).astype(int)
    for row, (one, two, three) in enumerate(ends):
        result[row, :one], result[row, one:two], result[row, two:three] = amounts[row]
    return result


@dataclass(frozen=True, eq=False)
class _Heads:
    """Queries (B, H, L, D) and keys (B, G, S, D), whose last components are the values; `rows` are the telling ones."""

    query: Array
    key: Array
    rows_of_a_head: int

    @classmethod
    def of(
        cls,
        operation: str,
        dtype: str,
        rows: Rows,
        *,
        rows_of_a_head: int = _ROWS_OF_A_HEAD,
        queries: int = _KEYS,
        keys: int = _KEYS,
    ) -> _Heads:
        """Return heads that hold every row, in their last queries, so that the causal flag hides nothing of it.

        Gradients that heads share may err by more, so that they tell less: each head has its own there.
        """
        kv_heads = 2 if operation == "grouped_query_attention" else 3
        batch = -(-len(rows.key) // (kv_heads * rows_of_a_head))
        rows = rows.taken(np.arange(batch * kv_heads * rows_of_a_head) % len(rows.key))
        query = np.zeros((batch * kv_heads, queries, HEAD_WIDTH))
        key = np.zeros((batch * kv_heads, keys, HEAD_WIDTH))
        far = stored((rows.logits[:, :1] - _FAR) / (rows.scale * rows.query[:, 1:]), Precision.of(dtype))
        nearest = _keys_in_a_row(rows, rows.key * [1, 0, 0], np.zeros((1, 1)), keys)
        others = _keys_in_a_row(rows, rows.key * [0, 1, 1], far, keys)
        value = _keys_in_a_row(rows, rows.value, np.zeros((1, 1)), keys)
        for row in range(len(rows.key)):
            head, place = divmod(row, rows_of_a_head)
            components = [2 * place, 2 * place + 1]
            positions = np.arange(queries - rows_of_a_head + place, -1, -rows_of_a_head)
            query[head, positions[:, None], components] = rows.query[row]
            key[head][:, [*components, 2 * _ROWS_OF_A_HEAD + place]] = np.stack(
                [nearest[row], others[row], value[row]], -1
            )
        group = 2 if operation == "grouped_query_attention" else 1
        shape = (batch, kv_heads, -1, HEAD_WIDTH)
        return cls(np.repeat(query.reshape(shape), group, axis=1), key.reshape(shape), rows_of_a_head)

    def neutral(self) -> dict[str, Any]:
        """Return for each keyword a value that changes no telling row, or hardly."""
        shape = (*self.query.shape[:3], self.key.shape[2])
        mask = np.ones((shape[0], 1, 1, shape[3]), dtype=bool)
        mask[..., -2:] = False
        return {
            "mask": mask,
            "bias": np.full(shape, 3.0),
            "is_causal": True,
            "window": (shape[3], shape[3]),
            "softcap": 1000.0,
            "sinks": np.full(shape[1], -_FAR),
        }

    def asked(self, operation: str, dtype: str, **keywords: Any) -> Inputs:
        """Return the inputs of a call."""
        if operation == "multi_head_attention":
            width = self.query.shape[1] * HEAD_WIDTH
            identity = Projections(*(np.eye(width) for _ in range(4)))
            x, context = (reference.merge_heads(heads) for heads in (self.query, self.key))
            return UnprojectedInputs(dtype, x, context, identity, self.query.shape[1], self.query.shape[1], **keywords)
        if operation in WITH_VALUES:
            keywords["grad_output"] = self._grad_output()
            query, key = self.query, self.key
            return BackwardInputs(operation=operation, dtype=dtype, query=query, key=key, value=key, **keywords)
        value = None if operation == "attention_weights" else self.key
        return AttentionInputs(operation, dtype, self.query, self.key, value, **keywords)

    def _grad_output(self) -> Array:
        """Return the gradient that makes grad_value the weights of each telling row, in its own component."""
        result = np.zeros(self.query.shape)
        for place in range(self.rows_of_a_head):
            result[:, :, -self.rows_of_a_head + place, 2 * _ROWS_OF_A_HEAD + place] = 1.0
        return result


class UnprojectedInputs(MultiHeadInputs):
    """Multi-head attention through identity matrices, which round nothing: it errs as attention does."""

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and the error bound of attention between the heads themselves."""
        query, key = (reference.split_heads(wide, self.num_heads) for wide in (self.x, self.context))
        heads = AttentionInputs(
            "scaled_dot_product_attention", self.dtype, query, key, key, mask=self.mask, is_causal=self.is_causal
        )
        found = heads.expected(conventions)
        value, allowed = reference.merge_heads(found.value), reference.merge_heads(found.allowed)
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))


def numerics_shown(inputs: Inputs, output: Array, conventions: Conventions) -> tuple[tuple[str, ...], str]:
    """Return the numerics that allow this answer, and in words how far it is from the formula."""
    verdicts = {}
    for value in ("eager", "fused"):
        expected = inputs.expected({**conventions, "numerics": value})
        verdicts[value] = compare(expected.value, output, expected.allowed, expected.judged)
    fits = tuple(value for value, verdict in verdicts.items() if verdict.holds)
    beside = f"errs by {verdicts['fused'].excess:.3g} of what fused numerics allow"
    if "fused" in fits:
        return fits, f"{beside}, where a rounded logit, exponential or sum would err by more than all of it"
    eager = f"by {verdicts['eager'].excess:.3g} of what eager ones do"
    return fits, f"{beside}, and {eager}; eager is what is allowed, not what is known to be done"
