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
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import factors
from veriformer.conformance_tests.recognition.rewriting import with_steps

_LOGITS = 4
_AXES = MappingProxyType({"factors": (0, 1), "contracted": ((3,), (3,)), "parallel": ((0, 1), (0, 1))})
# Between a factor and its heads, or a product and the sum, stand the moves that an einsum is made of.
_MOST_STEPS = 8


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
        if found is None:
            continue
        first, second, factor = found
        heads = first.query.shape[1]
        operands: list[int] = []
        steps: list[Step] = []
        for number, parts in enumerate(((first.query, second.query), (first.key, second.key))):
            whole = np.concatenate([_of_heads(one, heads) for one in parts], axis=-1)
            values.append(Value(np.ascontiguousarray(whole), "step"))
            operands.append(len(values) - 1)
            sources = (first.values[number], second.values[number])
            steps.append(_made(step, "joined", Kind.REARRANGEMENT, sources, operands[-1]))
        result = step.results[0]
        if factor != 1.0:
            values.append(Value(flow.array(result) / factor, "step"))
            values.append(Value(np.asarray(factor), "constant"))
            product = len(values) - 2
            scaled = _made(step, "scaled", Kind.OTHER, (product, len(values) - 1), result)
            result = product
        else:
            scaled = None
        steps.append(replace(_made(step, "product", Kind.CONTRACTION, tuple(operands), result), attributes=_AXES))
        made[index] = [*steps, *([] if scaled is None else [scaled])]
        starts[index] = (*first.values, *second.values)
    return with_steps(flow, values, made, starts)


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
    makers = [_product_behind(flow, one) for one in step.operands]
    if any(one is None for one in makers):
        return None
    found = []
    for value, maker in zip(step.operands, makers, strict=True):
        read = next(_read(flow, value, maker), None) if maker is not None else None
        if read is None:
            return None
        found.append(read)
    (first, factor), (second, other) = found
    same = abs(factor - other) <= 1e-6 * abs(factor) and first.query.shape[1] == second.query.shape[1]
    # Where all heads share both keys, nothing tells the axis of the heads from that of the queries.
    own = first.query.shape[1] in (first.key.shape[1], second.key.shape[1])
    return (first, second, factor) if same and own and first.query.shape[1] > 1 else None


def _product_behind(flow: Flow, value: int) -> Step | None:
    """Return the product that a value is, moved and multiplied by one number at most."""
    for _ in range(_MOST_STEPS):
        step = flow.making(value)
        if step is None:
            return None
        if step.kind == Kind.CONTRACTION:
            both = "contracted" in step.attributes and all(flow.depends_on_input(one) for one in factors(step))
            return step if both else None
        moving = [one for one in step.operands if flow.depends_on_input(one)]
        others = [one for one in step.operands if one not in moving]
        is_scale = step.kind == Kind.OTHER and all(flow.array(one).size == 1 for one in others)
        if len(moving) != 1 or not (step.kind == Kind.REARRANGEMENT or is_scale):
            return None
        value = moving[0]
    return None


def _read(flow: Flow, value: int, product: Step) -> Iterator[tuple[_Product, float]]:
    """Yield a product as one of queries and keys, (B, H, L, D) and (B, G, S, D), with the factor of its result."""
    logits = flow.array(value)
    batch, heads, rows, columns = logits.shape
    first, second = factors(product)
    unit = flow.unit(value)
    for one, other in ((first, second), (second, first)):
        for query in _as_heads(flow, one, (batch, heads, rows)):
            for key in _as_heads(flow, other, (batch, heads, columns)):
                if query.shape[-1] != key.shape[-1]:
                    continue
                plain = query @ key.swapaxes(-1, -2)
                if agree(logits, plain, unit):
                    yield _Product((one, other), query, key), 1.0
                    return
                factor = factor_of(plain, logits, unit)
                if factor is not None:
                    yield _Product((one, other), query, key), factor
                    return


def _as_heads(flow: Flow, value: int, sizes: tuple[int, int, int]) -> Iterator[Array]:
    """Yield the ways to read a factor, or what it was moved from, as (B, H or 1, L, D)."""
    batch, heads, rows = sizes
    for moved in _moved_from(flow, value):
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


def _moved_from(flow: Flow, value: int) -> Iterator[Array]:
    for _ in range(_MOST_STEPS):
        yield flow.array(value)
        step = flow.making(value)
        if step is None or step.kind != Kind.REARRANGEMENT or len(step.operands) != 1:
            return
        value = step.operands[0]
