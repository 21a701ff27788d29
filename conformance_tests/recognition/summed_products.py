"""Logits that are the sum of two products, read as one product of wider queries and keys: [q, r]·[k, s] = q·k + r·s.

So latent attention writes the part of its heads that is turned by positions, whose key all heads share (DeepSeek-AI
2024, "DeepSeek-V2", section 2.1.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Origin, Step, Trace, Value
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import factors
from veriformer.conformance_tests.recognition.rewriting import with_steps

_LOGITS = 4
_AXES = MappingProxyType({"factors": (0, 1), "contracted": ((3,), (3,)), "parallel": ((0, 1), (0, 1))})


@dataclass(frozen=True)
class _Product:
    """A product of two values that depend on the input, with its factors as (B, H, L, D) and (B, H, S, D)."""

    values: tuple[int, int]
    query: Array
    key: Array


def with_wider_products(trace: Trace) -> Trace:
    """Return a record in which a sum of two products is one; the same one where there is none."""
    flow = Flow(trace)
    values, made, starts = list(trace.values), dict[int, list[Step]](), dict[int, tuple[int, ...]]()
    for index, step in enumerate(trace.steps):
        found = _sum_of_products(flow, step)
        if found is not None:
            first, second, factor = found
            made[index] = _as_one(values, step, first, second, factor)
            starts[index] = (*first.values, *second.values)
    return with_steps(flow, values, made, starts)


def _as_one(values: list[Value], step: Step, first: _Product, second: _Product, factor: float) -> list[Step]:
    """Return the steps that join the factors of two products and multiply them, with their results behind `values`."""

    def added(array: Array, origin: Origin = "step") -> int:
        values.append(Value(np.ascontiguousarray(array), origin))
        return len(values) - 1

    heads, (result,) = first.query.shape[1], step.results
    query, key = (
        added(np.concatenate([_of_heads(one, heads) for one in parts], axis=-1))
        for parts in ((first.query, second.query), (first.key, second.key))
    )
    sides = zip(first.values, second.values, (query, key), strict=True)
    joined = [_made(step, "joined", Kind.REARRANGEMENT, (one, other), whole) for one, other, whole in sides]
    product = result if factor == 1.0 else added(values[result].array / factor)
    multiplied = replace(_made(step, "product", Kind.CONTRACTION, (query, key), product), attributes=_AXES)
    if factor == 1.0:
        return [*joined, multiplied]
    scale = added(np.asarray(factor), "constant")
    return [*joined, multiplied, _made(step, "scaled", Kind.OTHER, (product, scale), result)]


def _made(step: Step, operation: str, kind: Kind, operands: tuple[int, ...], result: int) -> Step:
    plain = MappingProxyType[str, object]({})
    return replace(step, operation=operation, kind=kind, operands=operands, results=(result,), attributes=plain)


def _of_heads(array: Array, heads: int) -> Array:
    return np.broadcast_to(array, (array.shape[0], heads, *array.shape[2:]))


def _sum_of_products(flow: Flow, step: Step) -> tuple[_Product, _Product, float] | None:
    """Return the two products that a step adds, and the factor that both have."""
    if step.kind != Kind.ADDITION or len(step.operands) != 2 or len(set(step.operands)) != 2:
        return None
    if any(flow.array(one).ndim != _LOGITS or not flow.depends_on_input(one) for one in step.operands):
        return None
    if len({flow.shape(one) for one in (*step.operands, *step.results)}) != 1:
        return None
    one, another = (_read(flow, value) for value in step.operands)
    if one is None or another is None:
        return None
    (first, factor), (second, other) = one, another
    same = abs(factor - other) <= 1e-6 * abs(factor) and first.query.shape[1] == second.query.shape[1]
    # Where all heads share both keys, nothing tells the axis of the heads from that of the queries.
    own = first.query.shape[1] in (first.key.shape[1], second.key.shape[1])
    return (first, second, factor) if same and own and first.query.shape[1] > 1 else None


def _product_behind(flow: Flow, value: int) -> Step | None:
    """Return the product of two values of the pass that a value is, moved and multiplied by one number at most."""
    *_, last = flow.handed_on(value, scaled=True)
    step = flow.making(last)
    if step is None or step.kind != Kind.CONTRACTION or "contracted" not in step.attributes:
        return None
    return step if all(flow.depends_on_input(one) for one in factors(step)) else None


def _read(flow: Flow, value: int) -> tuple[_Product, float] | None:
    """Return a value as a product of queries and keys, (B, H, L, D) and (B, H or 1, S, D), with its factor."""
    product = _product_behind(flow, value)
    if product is None:
        return None
    logits, unit = flow.array(value), flow.unit(value)
    batch, heads, rows, columns = logits.shape
    first, second = factors(product)
    for one, other in ((first, second), (second, first)):
        for query in _as_heads(flow, one, (batch, heads, rows)):
            for key in _as_heads(flow, other, (batch, heads, columns)):
                plain = query @ key.swapaxes(-1, -2) if query.shape[-1] == key.shape[-1] else None
                if plain is None:
                    continue
                factor = 1.0 if agree(logits, plain, unit) else factor_of(plain, logits, unit)
                if factor is not None:
                    return _Product((one, other), query, key), factor
    return None


def _as_heads(flow: Flow, value: int, sizes: tuple[int, int, int]) -> Iterator[Array]:
    """Yield the ways to read a factor, or what it was moved from, as (B, H or 1, L, D)."""
    batch, heads, rows = sizes
    for moved in map(flow.array, flow.handed_on(value)):
        bare = moved.reshape([length for length in moved.shape if length > 1])
        array = bare[:, None] if bare.ndim == _LOGITS - 1 else bare
        if array.ndim != _LOGITS or array.dtype.kind != "f":
            continue
        orders = [
            order
            for order in permutations(range(_LOGITS))
            if array.shape[order[0]] == batch and array.shape[order[1]] in (1, heads) and array.shape[order[2]] == rows
        ]
        if orders:
            yield from (array.transpose(order) for order in orders)
            return
