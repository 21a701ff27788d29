"""The mistakes that each kind of part can be given, of code and not of weights: with other weights a model is right.

What a part does is looked up in the record of a right pass: its softmax, its products, its activation, the sum that
takes its output in. Whether a mistake applies is decided there; whether it matters, by the outputs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from breaking import Address, Break, Call, Forward, Replacement, addresses
from torch import nn
from veriformer.adapters.capture.trace import Kind, Step, Trace
from veriformer.conformance_tests.recognition.findings import Part
from veriformer.conformance_tests.recognition.flow import Flow

Tensor = torch.Tensor
Array = np.ndarray[Any, np.dtype[Any]]

_ATTENTIONS = ("multi_head_attention", "grouped_query_attention")
_NETWORKS = ("feed_forward", "gated_feed_forward")
_NORMS = ("layer_norm", "rms_norm")
_BEGINNINGS = ("token_embedding", "input_projection", "embedding")
_ACTIVATIONS = frozenset(f"aten.{name}" for name in ("gelu", "silu", "relu", "tanh", "sigmoid", "elu", "leaky_relu"))
_PRODUCTS = frozenset({"aten.mm", "aten.bmm", "aten.addmm", "aten.baddbmm"})
_MASKING = frozenset(
    f"aten.{name}" for name in ("add", "add_", "masked_fill", "masked_fill_", "where", "baddbmm", "sub")
)
# What hides a key is at most this, where it is added.
_HIDDEN = -1e4
_UNIT = 1e-4


@dataclass(frozen=True)
class Site:
    """One part of a recognised model, and the recorded pass that it was found in."""

    model: nn.Module
    trace: Trace
    flow: Flow
    where: Sequence[Address]
    parts: Sequence[Part]
    part: Part

    @cached_property
    def end(self) -> int:
        """The step at which the next sublayer begins, or the number of steps."""
        later = [
            one.place
            for one in self.parts
            if one.role in (*_ATTENTIONS, *_NETWORKS, "unembedding") and one.place > self.part.place
        ]
        return min(later, default=len(self.trace.steps))

    @cached_property
    def batch(self) -> int:
        """How many samples the model was given."""
        return next((shape[0] for value in self.trace.inputs if (shape := self.flow.shape(value))), 1)

    @property
    def module(self) -> nn.Module | None:
        """The module that the part is, if it has one of its own."""
        found = dict(self.model.named_modules()).get(self.part.path)
        shared = sum(one.path == self.part.path for one in self.parts) > 1
        return None if shared or self.part.path == "" else found

    def is_active(self, value: int) -> bool:
        """Return whether a value depends on the inputs and on the parameters: no mask, no table, no weight."""
        return self.flow.depends_on_input(value) and self.flow.depends_on_parameters(value)

    def active(self, step: Step) -> list[int]:
        """Return the places of a step's operands that are active."""
        return [place for place, value in enumerate(step.operands) if self.is_active(value)]

    def between(self, start: int, end: int) -> Iterator[tuple[int, Step]]:
        """Yield the steps of a range with their indices."""
        for index in range(max(start, 0), min(end, len(self.trace.steps))):
            yield index, self.trace.steps[index]

    def after(self, step: int) -> frozenset[int]:
        """Return the values that depend on what a step made, up to the next sublayer's first step and beyond it."""
        reached = set(self.trace.steps[step].results)
        for _, each in self.between(step + 1, self.end + 40):
            if not reached.isdisjoint(each.operands):
                reached.update(each.results)
        return frozenset(reached)

    def replaced(self, name: str, replacements: Mapping[int, Replacement]) -> Break:
        """Return a mistake made of replacements by the steps' indices."""
        return Break(name, {self.where[index]: one for index, one in replacements.items()}, where=self.part.path)


def sites(model: nn.Module, trace: Trace, parts: Sequence[Part]) -> list[Site]:
    """Return the parts that are judged and hold."""
    flow, where = Flow(trace), addresses(trace.steps)
    return [Site(model, trace, flow, where, parts, part) for part in parts if part.status == "holds"]


def breaks_of(site: Site) -> Iterator[Break]:
    """Yield the mistakes that a part can be given."""
    role = site.part.role
    if role in _ATTENTIONS:
        yield from _of_attention(site)
    elif role in _NETWORKS:
        yield from _of_network(site)
    elif role in _NORMS:
        yield from _of_norm(site)
    elif role in _BEGINNINGS:
        yield from _of_embedding(site)
    elif role == "unembedding":
        yield from _of_unembedding(site)
    elif role == "router":
        yield from _of_router(site)


# What any tensor of positions can suffer, (..., L, d).


def rolled(x: Tensor) -> Tensor:
    """Return the vectors one position further."""
    return torch.roll(x, 1, dims=-2)


def without_last(x: Tensor) -> Tensor:
    """Return the vectors with that of the last position zeroed."""
    return torch.cat((x[..., :-1, :], torch.zeros_like(x[..., -1:, :])), dim=-2)


def _on_result(change: Callable[[Tensor], Tensor]) -> Replacement:
    def replacement(call: Call) -> Any:
        result = call.run()
        return (change(result[0]), *result[1:]) if isinstance(result, tuple) else change(result)

    return replacement


def _on_operand(place: int, change: Callable[[Tensor], Tensor]) -> Replacement:
    return lambda call: call.run_with({place: change})


def _operand(place: int) -> Replacement:
    # A view of what was given: an operation returns nothing that it took.
    return lambda call: call.tensors()[place].clone()


def _in_positions(site: Site, change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return a change of vectors for a product's flattened result, (B·L, d)."""

    def changed(x: Tensor) -> Tensor:
        if x.ndim > 2:
            return change(x)
        return change(x.reshape(site.batch, -1, x.shape[-1])).reshape(x.shape)

    return changed


# Attention.


def _of_attention(site: Site) -> Iterator[Break]:
    core = next((one for one in site.between(site.part.place, site.end) if _is_core(one[1])), None)
    if core is None:
        return
    index, step = core
    if step.kind == Kind.ATTENTION:
        yield from _of_fused(site, index)
    else:
        yield from _of_products(site, index)
    yield from _of_rotation(site, index)
    yield from _of_branch(site, index)
    yield from _of_biases(site)
    yield from _of_another_layer(site)


def _is_core(step: Step) -> bool:
    return step.kind == Kind.ATTENTION or step.operation == "aten._softmax"


def _of_fused(site: Site, index: int) -> Iterator[Break]:
    operands = site.trace.steps[index].operands
    width = site.flow.shape(operands[0])[-1]
    heads = site.flow.shape(operands[0])[1]
    changes: dict[str, Replacement] = {
        "scale left out": _scaled_otherwise(1.0),
        "scale twice": _scaled_otherwise(1.0 / width),
        "scale of all heads together": _scaled_otherwise((width * heads) ** -0.5),
        "keys one position further": _on_operand(1, rolled),
        "values one position further": _on_operand(2, rolled),
        "key of the neighbour head": _on_operand(1, _next_head),
        "value of the neighbour head": _on_operand(2, _next_head),
        "output of the neighbour head": _on_result(_next_head),
        "heads merged without transposing": _on_result(_untransposed),
        "mask one wider": lambda call: _masked_otherwise(call, _wider),
        "mask one narrower": lambda call: _masked_otherwise(call, _narrower),
        "mask left out": lambda call: _masked_otherwise(call, None),
    }
    for name, change in changes.items():
        if "head" not in name or heads > 1:
            yield site.replaced(name, {index: change})


def _scaled_otherwise(scale: float) -> Replacement:
    return lambda call: call.function(*call.args, **{**call.keywords, "scale": scale})


def _next_head(x: Tensor) -> Tensor:
    return torch.roll(x, 1, dims=1)


def _untransposed(x: Tensor) -> Tensor:
    samples, heads, length, width = x.shape
    return x.reshape(samples, length, heads, width).transpose(1, 2)


def _masked_otherwise(call: Call, change: Callable[[Tensor], Tensor] | None) -> Any:
    names = [one.name for one in call.function._schema.arguments]
    given = {**dict(zip(names, call.args, strict=False)), **call.keywords}
    mask = next((given[name] for name in ("attn_mask", "attn_bias") if given.get(name) is not None), None)
    query, key = call.args[:2]
    if mask is None and given.get("is_causal"):
        seen = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
        mask = torch.zeros(seen.shape, dtype=query.dtype).masked_fill(~seen, -torch.inf)
    slot = "attn_mask" if "attn_mask" in names else "attn_bias"
    changed = None if change is None or mask is None else change(mask)
    given.update({slot: changed, "is_causal": False})
    return call.function(**given)


def _wider(mask: Tensor) -> Tensor:
    """Return a mask with which each query sees as the next key is seen: one key more, where it is causal."""
    return torch.cat((mask[..., :1], mask[..., :-1]), dim=-1)


def _narrower(mask: Tensor) -> Tensor:
    """Return a mask with which each query sees one key less, where it is causal; the first row stays."""
    hidden = mask[..., :1, -1:].expand(*mask.shape[:-1], 1)
    moved = torch.cat((mask[..., 1:], hidden), dim=-1)
    return moved if mask.ndim < 2 or mask.shape[-2] == 1 else torch.cat((mask[..., :1, :], moved[..., 1:, :]), dim=-2)


def _of_products(site: Site, softmax: int) -> Iterator[Break]:
    axes = site.flow.shape(site.trace.steps[softmax].operands[0])
    if len(axes) > 2 and axes[-1] == axes[-2]:
        yield site.replaced("softmax over the queries", {softmax: _along(-2)})
    if len(axes) > 3:
        yield site.replaced("softmax over the heads", {softmax: _along(1)})
    yield site.replaced("softmax twice", {softmax: _softmax_twice})
    scores = _product_before(site, softmax)
    if scores is not None:
        yield from _of_scores(site, scores)
        yield from _of_mask(site, scores, softmax)
    values = _product_after(site, softmax)
    if values is not None:
        yield from _of_values(site, values)


def _along(axis: int) -> Replacement:
    return lambda call: call.function(call.args[0], axis, *call.args[2:])


def _softmax_twice(call: Call) -> Tensor:
    result: Tensor = call.function(call.run(), *call.args[1:])
    return result


def _product_before(site: Site, softmax: int) -> int | None:
    """Return the product of queries and keys: the nearest before the softmax of which both factors are active."""
    value = site.trace.steps[softmax].operands[0]
    for _ in range(30):
        index = site.flow.maker(value)
        if index is None:
            return None
        step = site.trace.steps[index]
        places = site.active(step)
        if step.operation in _PRODUCTS and len(places) >= 2:
            return index
        if step.kind == Kind.CONTRACTION or not places:
            return None
        value = step.operands[places[0]]
    return None


def _product_after(site: Site, softmax: int) -> int | None:
    """Return the product of weights and values: the first that depends on the softmax, with both factors active."""
    after = site.after(softmax)
    for index, step in site.between(softmax + 1, site.end):
        if step.operation in _PRODUCTS and not after.isdisjoint(step.operands):
            return index if len(site.active(step)) == 2 else None
    return None


def _of_scores(site: Site, index: int) -> Iterator[Break]:
    operands = site.trace.steps[index].operands
    last = len(operands) - 1
    width = site.flow.shape(operands[last - 1])[-1]
    stacked = _head_axis(site, index)
    yield site.replaced("scale left out", {index: _on_result(lambda x: x * width**0.5)})
    yield site.replaced("scale twice", {index: _on_result(lambda x: x / width**0.5)})
    keys_forth = _on_operand(last, lambda x: torch.roll(x, 1, dims=-1))
    yield site.replaced("keys one position further", {index: keys_forth})
    if stacked is not None:
        heads = stacked
        yield site.replaced("scale of all heads together", {index: _on_result(lambda x: x * heads**-0.5)})
        yield site.replaced("key of the neighbour head", {index: _on_operand(last, _rolled_heads(heads))})
        if site.part.role == "grouped_query_attention":
            yield from _of_groups(site, index, last, heads)


def _of_groups(site: Site, index: int, place: int, heads: int) -> Iterator[Break]:
    found = re.search(r"heads? on (\d+)", site.part.summary)
    groups = int(found[1]) if found else 0
    if not 1 < groups < heads or heads % groups:
        return
    order = [(head % groups) * (heads // groups) for head in range(heads)]

    def tiled(x: Tensor) -> Tensor:
        by_head = x.reshape(-1, heads, *x.shape[-2:])
        return by_head[:, order].reshape(x.shape)

    yield site.replaced("key heads tiled, not repeated", {index: _on_operand(place, tiled)})


def _head_axis(site: Site, index: int) -> int | None:
    """Return the number of heads where a product runs over samples and heads, in this order; None elsewhere."""
    heads = site.part.conventions.get("num_heads")
    step = site.trace.steps[index]
    shape = site.flow.shape(step.results[0])
    if step.operation not in ("aten.bmm", "aten.baddbmm") or not isinstance(heads, int) or heads < 2:
        return None
    return heads if shape[0] in (heads, site.batch * heads) else None


def _rolled_heads(heads: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.roll(x.reshape(-1, heads, *x.shape[1:]), 1, dims=1).reshape(x.shape)


def _of_mask(site: Site, scores: int, softmax: int) -> Iterator[Break]:
    after = site.after(scores)
    for index, step in site.between(scores + 1, softmax):
        if step.operation not in _MASKING or after.isdisjoint(step.operands):
            continue
        place = next((at for at, value in enumerate(step.operands) if _hides(site, value)), None)
        own = next((at for at, value in enumerate(step.operands) if value in after), None)
        if place is not None and own is not None:
            yield site.replaced("mask one wider", {index: _on_operand(place, _wider)})
            yield site.replaced("mask one narrower", {index: _on_operand(place, _narrower)})
            yield site.replaced("mask left out", {index: _operand(own)})
            return


def _hides(site: Site, value: int) -> bool:
    array = site.flow.array(value)
    if site.is_active(value) or array.ndim < 2 or array.shape[-1] < 2:
        return False
    return array.dtype == bool or (array.dtype.kind == "f" and bool((array < _HIDDEN).any()))


def _of_values(site: Site, index: int) -> Iterator[Break]:
    operands = site.trace.steps[index].operands
    last = len(operands) - 1
    yield site.replaced("values one position further", {index: _on_operand(last, rolled)})
    heads = _head_axis(site, index)
    if heads is None:
        return
    yield site.replaced("value of the neighbour head", {index: _on_operand(last, _rolled_heads(heads))})
    yield site.replaced("output of the neighbour head", {index: _on_result(_rolled_heads(heads))})

    def merged(x: Tensor) -> Tensor:
        return _untransposed(x.reshape(-1, heads, *x.shape[1:])).reshape(x.shape)

    yield site.replaced("heads merged without transposing", {index: _on_result(merged)})


# Rotations.


@dataclass(frozen=True)
class Turning:
    """The multiplications by the tables of a rotation, cosines and sines, or by both as complex numbers."""

    cosines: tuple[tuple[int, int], ...]
    sines: tuple[tuple[int, int], ...]
    cosine: Array
    sine: Array

    def changed(self, change: Callable[[Array, Array], tuple[Array, Array]], chosen: slice) -> dict[int, Replacement]:
        """Return replacements with other tables: of the queries (the first half), the keys, or both."""
        tables = change(self.cosine, self.sine)
        return {
            index: _on_operand(place, _in_place_of(table))
            for steps, table in zip((self.cosines, self.sines), tables, strict=True)
            for index, place in steps[_half(len(steps), chosen)]
        }


_QUERIES, _KEYS, _BOTH = slice(0, 1), slice(1, 2), slice(0, 2)


def _half(count: int, chosen: slice) -> slice:
    return slice(chosen.start * count // 2, chosen.stop * count // 2)


def _in_place_of(table: Array) -> Callable[[Tensor], Tensor]:
    def replaced(before: Tensor) -> Tensor:
        return torch.as_tensor(table, dtype=before.dtype).reshape(before.shape)

    return replaced


def _of_rotation(site: Site, core: int) -> Iterator[Break]:
    turning = _turning(site, core)
    if turning is None:
        return
    yield site.replaced("rotation the other way", turning.changed(lambda c, s: (c, -s), _BOTH))
    yield site.replaced("rotation left out", turning.changed(_unturned, _BOTH))
    yield site.replaced("rotation of the keys left out", turning.changed(_unturned, _KEYS))
    yield site.replaced("queries turned one position further", turning.changed(_one_further, _QUERIES))
    yield site.replaced("angles doubled", turning.changed(lambda c, s: (c * c - s * s, 2 * c * s), _BOTH))
    yield site.replaced("cosine and sine exchanged", turning.changed(lambda c, s: (s, c), _BOTH))


def _unturned(cosine: Array, sine: Array) -> tuple[Array, Array]:
    return np.ones_like(cosine), np.zeros_like(sine)


def _one_further(cosine: Array, sine: Array) -> tuple[Array, Array]:
    axis = next((at for at, size in enumerate(cosine.shape) if size > 1), 0)
    first = np.take(cosine, [1], axis), np.take(sine, [1], axis)
    return cosine * first[0] - sine * first[1], sine * first[0] + cosine * first[1]


def _turning(site: Site, core: int) -> Turning | None:
    tables: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    arrays: list[Array] = []
    keys: list[Array] = []
    for index, step in site.between(site.part.place, core):
        if step.operation not in ("aten.mul", "aten.mul_") or len(site.active(step)) != 1 or len(step.operands) != 2:
            continue
        place = 1 - site.active(step)[0]
        array = site.flow.array(step.operands[place])
        if array.dtype.kind != "f" or array.ndim < 2 or np.abs(array).max() > 1.0 + _UNIT or array.std() == 0.0:
            continue
        known = next((at for at, key in enumerate(keys) if key.size == array.size and (key == array.ravel()).all()), -1)
        if known < 0:
            known = len(keys)
            keys.append(array.ravel())
            arrays.append(array)
        tables.setdefault((known,), []).append((index, place))
    for first in range(len(arrays)):
        for second in range(first + 1, len(arrays)):
            one, other = arrays[first], arrays[second]
            if one.size == other.size and np.abs(one.ravel() ** 2 + other.ravel() ** 2 - 1.0).max() < _UNIT:
                # The cosine of the first position is 1.
                by = (first, second) if one.ravel()[0] > other.ravel()[0] else (second, first)
                cosine, sine = arrays[by[0]], arrays[by[1]].reshape(arrays[by[0]].shape)
                return Turning(tuple(tables[by[0],]), tuple(tables[by[1],]), cosine, sine)
    return None


# What a sublayer is part of.


def _of_branch(site: Site, core: int) -> Iterator[Break]:
    """Yield mistakes where the stream takes the output of a sublayer in."""
    found = _sum_after(site, core)
    if found is None:
        return
    index, branch = found
    stream = 1 - branch
    yield site.replaced("residual left out", {index: _operand(branch)})
    yield site.replaced("sublayer left out", {index: _operand(stream)})
    yield site.replaced("branch doubled", {index: _on_operand(branch, lambda x: x * 2.0)})
    yield site.replaced("branch subtracted", {index: _on_operand(branch, torch.neg)})
    yield site.replaced("branch one position further", {index: _on_operand(branch, rolled)})
    yield site.replaced("branch of the last token zeroed", {index: _on_operand(branch, without_last)})
    yield site.replaced("residual doubled", {index: _on_operand(stream, lambda x: x * 2.0)})


def _sum_after(site: Site, core: int) -> tuple[int, int] | None:
    after = site.after(core)
    for index, step in site.between(core + 1, len(site.trace.steps)):
        if step.kind != Kind.ADDITION or len(site.active(step)) != 2:
            continue
        inside = [place for place, value in enumerate(step.operands) if value in after]
        shapes = {site.flow.shape(value) for value in step.operands}
        if len(inside) == 1 and len(shapes) == 1:
            return index, inside[0]
        if inside:
            return None
    return None


def _of_biases(site: Site) -> Iterator[Break]:
    steps = [
        index
        for index, step in site.between(site.part.place, site.end)
        if step.operation == "aten.addmm" and _is_inside(step.module, site.part.path)
    ]
    names = {"first bias left out": steps[:1], "last bias left out": steps[1:][-1:]}
    for name, chosen in names.items():
        for index in chosen:
            yield site.replaced(name, {index: lambda call: torch.mm(call.args[1], call.args[2])})


def _is_inside(path: str, outer: str) -> bool:
    return outer == "" or path == outer or path.startswith(f"{outer}.")


def _of_another_layer(site: Site) -> Iterator[Break]:
    """Yield that another layer's module of the same kind runs in place of this one."""
    module = site.module
    if module is None:
        return
    modules = dict(site.model.named_modules())
    pattern = re.sub(r"(?<![^.])\d+(?![^.])", r"(\\d+)", re.escape(site.part.path).replace(r"\.", "."), count=1)
    for path, other in modules.items():
        if path != site.part.path and other is not module and re.fullmatch(pattern, path) and _alike(module, other):
            right = other.forward

            def elsewhere(_own: Forward, right: Forward = right) -> Forward:
                # A method takes no attributes, which whoever wraps a forward pass gives it.
                return functools.partial(right)

            yield Break("another layer's module", forwards={site.part.path: elsewhere}, where=site.part.path)
            return


def _alike(one: nn.Module, other: nn.Module) -> bool:
    def shapes(module: nn.Module) -> list[tuple[int, ...]]:
        return [tuple(each.shape) for each in module.parameters()]

    return type(one) is type(other) and shapes(one) == shapes(other)


# Feed-forward networks.


def _of_network(site: Site) -> Iterator[Break]:
    found = next(
        (
            one
            for one in site.between(site.part.place, site.end)
            if one[1].operation in _ACTIVATIONS and site.active(one[1])
        ),
        None,
    )
    if found is not None:
        index, step = found
        gating = _gating(site, index)
        taken = step.operands[0]
        # Inside of x·σ(x) or a formula of GELU it is no activation of its own.
        used = [site.trace.steps[user] for user in site.flow.users(step.results[0])]
        if all(taken not in each.operands for each in used) and step.operation != "aten.sigmoid":
            yield site.replaced("activation left out", {index: _operand(0)})
            yield site.replaced("another activation", {index: _another_activation(step.operation)})
        if gating is not None:
            yield from _of_gate(site, index, *gating)
        yield from _of_branch(site, index)
    yield from _of_biases(site)
    yield from _of_another_layer(site)


def _another_activation(operation: str) -> Replacement:
    other = torch.ops.aten.gelu.default if operation == "aten.relu" else torch.ops.aten.relu.default
    return lambda call: other(call.tensors()[0])


def _gating(site: Site, activation: int) -> tuple[int, int] | None:
    """Return the multiplication of the gate with the other branch, and the place of the gate."""
    after = site.after(activation)
    taken = site.trace.steps[activation].operands[0]
    for index, step in site.between(activation + 1, site.end):
        if step.kind == Kind.CONTRACTION and not after.isdisjoint(step.operands):
            return None
        inside = [place for place, value in enumerate(step.operands) if value in after]
        if step.operation == "aten.mul" and len(site.active(step)) == 2 and len(inside) == 1:
            return None if taken in step.operands else (index, inside[0])
    return None


def _of_gate(site: Site, activation: int, product: int, gate: int) -> Iterator[Break]:
    def keep(call: Call) -> Any:
        call.kept["activation"], call.kept["gate"] = call, call.tensors()[0]
        return call.run()

    def exchanged(call: Call) -> Any:
        made: Call = call.kept["activation"]
        return made.run_with({0: lambda _: call.tensors()[1 - gate]}) * call.kept["gate"]

    yield site.replaced("gate and up exchanged", {activation: keep, product: exchanged})
    yield site.replaced("gate left out", {product: _operand(1 - gate)})
    yield site.replaced("up left out", {product: _operand(gate)})
    yield site.replaced("gate one position further", {product: _on_operand(gate, rolled)})


# Norms.


def _of_norm(site: Site) -> Iterator[Break]:
    module = site.module
    if module is not None and not any(True for _ in module.children()):
        changes: dict[str, Callable[[Forward], Forward]] = {
            "norm left out": lambda _right: lambda x, *_args, **_keywords: x,
            "norm one position further": _then(rolled),
            "norm of the last token zeroed": _then(without_last),
        }
        for name, change in changes.items():
            yield Break(name, forwards={site.part.path: change}, where=site.part.path)
    place = site.part.place
    if site.trace.steps[place].operation == "aten.native_layer_norm":
        yield from _of_fused_norm(site, place)
    else:
        yield from _of_written_norm(site, place)
    yield from _of_another_layer(site)


def _then(change: Callable[[Tensor], Tensor]) -> Callable[[Forward], Forward]:
    return lambda right: lambda *args, **keywords: change(right(*args, **keywords))


def _of_fused_norm(site: Site, index: int) -> Iterator[Break]:
    def by_hand(change: Callable[[Tensor, float], tuple[Tensor, Tensor]]) -> Replacement:
        def replacement(call: Call) -> Any:
            x, _, gain, bias, eps = call.args
            centred, variance = change(x, eps)
            y = centred * torch.rsqrt(variance + eps)
            y = y if gain is None else y * gain
            return (y if bias is None else y + bias, *call.run()[1:])

        return replacement

    def without(place: int) -> Replacement:
        return lambda call: call.function(*call.args[:place], None, *call.args[place + 1 :])

    def of_rms(x: Tensor, _eps: float) -> tuple[Tensor, Tensor]:
        return x, x.pow(2).mean(-1, keepdim=True)

    def unbiased(x: Tensor, _eps: float) -> tuple[Tensor, Tensor]:
        return x - x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=1)

    def together(x: Tensor, _eps: float) -> tuple[Tensor, Tensor]:
        return x - x.mean((-2, -1), keepdim=True), x.var((-2, -1), keepdim=True, correction=0)

    yield site.replaced("mean not subtracted", {index: by_hand(of_rms)})
    yield site.replaced("unbiased variance", {index: by_hand(unbiased)})
    yield site.replaced("norm over positions too", {index: by_hand(together)})
    count = len(site.trace.steps[index].operands)
    if count > 1:
        yield site.replaced("gain left out", {index: without(2)})
    if count > 2:
        yield site.replaced("norm's bias left out", {index: without(3)})


def _of_written_norm(site: Site, place: int) -> Iterator[Break]:
    path = site.trace.steps[place].module
    start = next((at for at in range(place, 0, -1) if site.trace.steps[at - 1].module != path), 0)
    start = max(start, place - 14)
    for index, step in site.between(start, place + 3):
        if step.module != path or not site.active(step):
            continue
        width = site.flow.shape(step.operands[site.active(step)[0]])[-1]
        if step.operation == "aten.mean" and site.part.role == "rms_norm":
            yield site.replaced("sum of squares, not mean", {index: _on_result(lambda x, d=width: x * d)})
            yield site.replaced("squares divided by d - 1", {index: _on_result(lambda x, d=width: x * (d / (d - 1)))})
            yield site.replaced("norm over positions too", {index: _on_result(_mean_of_positions)})
        elif step.operation == "aten.rsqrt":
            yield site.replaced("square root left out", {index: lambda call: 1.0 / call.args[0]})
        elif step.operation == "aten.mul" and _takes_parameter(site, step):
            yield site.replaced("gain left out", {index: _operand(site.active(step)[0])})
        elif step.operation == "aten.add" and _takes_parameter(site, step):
            yield site.replaced("norm's bias left out", {index: _operand(site.active(step)[0])})


def _mean_of_positions(x: Tensor) -> Tensor:
    return x.mean(-2, keepdim=True).expand_as(x).clone() if x.ndim > 1 else x


def _takes_parameter(site: Site, step: Step) -> bool:
    others = [value for value in step.operands if not site.is_active(value)]
    return len(step.operands) == 2 and any(
        site.flow.depends_on_parameters(value) and len(site.flow.shape(value)) == 1 for value in others
    )


# Beginnings and ends.


def _of_embedding(site: Site) -> Iterator[Break]:
    place = site.part.place
    change = _in_positions(site, without_last)
    yield site.replaced("vector of the last token zeroed", {place: _on_result(change)})
    found = _positions_added(site)
    if found is None:
        return
    index, table = found
    yield from _of_positions(site, index, table)


def _positions_added(site: Site) -> tuple[int, int] | None:
    """Return the sum of the tokens' vectors and a table by position, and which of its operands the table is."""
    for index, step in site.between(site.part.place, site.end):
        active = site.active(step)
        if step.kind != Kind.ADDITION or len(active) != 1:
            continue
        table = 1 - active[0]
        shape = site.flow.shape(step.operands[table])
        wanted = site.flow.shape(step.operands[active[0]])[-2:]
        if shape[-2:] == wanted and np.ptp(site.flow.array(step.operands[table]), axis=-2).max() > 0.0:
            return index, table
    return None


def _of_positions(site: Site, index: int, table: int) -> Iterator[Break]:
    value = site.trace.steps[index].operands[table]
    changes: dict[str, Replacement] = {
        "positions left out": _operand(1 - table),
        "first position for all": _on_operand(table, lambda x: x[..., :1, :]),
    }
    if not site.flow.depends_on_parameters(value):
        # A learned table with its rows in another order is a learned table.
        changes["positions one further"] = _on_operand(table, rolled)
        changes["positions in reverse"] = _on_operand(table, lambda x: x.flip(-2))
        changes["positions twice"] = _on_operand(table, lambda x: x * 2.0)
    made = site.flow.making(value)
    where = made.module if made is not None else site.part.path
    lookup = site.flow.maker(value)
    if made is not None and made.kind == Kind.LOOKUP and lookup is not None:
        yield replace(site.replaced("first row for all", {lookup: _on_operand(1, torch.zeros_like)}), where=where)
    for name, change in changes.items():
        yield replace(site.replaced(name, {index: change}), where=where)


def _of_unembedding(site: Site) -> Iterator[Break]:
    place = site.part.place
    step = site.trace.steps[place]
    if step.operation not in _PRODUCTS:
        return
    yield site.replaced("results one position further", {place: _on_result(_in_positions(site, rolled))})
    yield site.replaced("result of the last token zeroed", {place: _on_result(_in_positions(site, without_last))})
    yield from _of_biases(site)


def _of_router(site: Site) -> Iterator[Break]:
    for index, step in site.between(site.part.place, site.part.place + 30):
        if step.operation == "aten.topk":
            yield site.replaced("shares of the experts exchanged", {index: _shares_exchanged})
            return


def _shares_exchanged(call: Call) -> Any:
    shares, experts = call.run()
    return shares.flip(-1), experts
