"""Layouts of backward passes: each gradient has the layout of its argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.axes import last_axis_again, last_axis_first
from veriformer.adapters.matching.layouts import (
    Arguments,
    Changed,
    FlatTokens,
    Layout,
    OneByOne,
    of_heads,
    of_vectors,
)
from veriformer.adapters.matching.namespaces import part_of, reshaped, shape_of, size_of, stacked
from veriformer.spec.operations import OPERATIONS

Gradients = Callable[[Arguments], Sequence[Any]]
_UPSTREAM = "grad_output"
_LAYOUTS_OF_HEADS = 7


@dataclass(frozen=True)
class Laid:
    """A layout for the gradients of some arguments, in their order."""

    words: str
    call: Callable[[Gradients, Arguments], list[Any]]


def layouts_of(operation: str) -> list[Laid]:
    """Return the layouts in which a backward pass of an operation may be written, the commonest first."""
    record = OPERATIONS[f"{operation}_backward"]
    wanted = tuple(one.removeprefix("grad_") for one in record.results) or (record.positional[0],)
    if "query" in wanted:
        return [_laid(one, wanted) for one in of_heads((*wanted, _UPSTREAM))[:_LAYOUTS_OF_HEADS]]
    if operation == "cross_entropy":
        return [_as_it_is("(B, L, N)"), Laid(FlatTokens().words, _flat_tokens)]
    if operation in ("gelu", "silu"):
        return [_as_it_is("")]
    whole, rows, _ = of_vectors("x")
    assert isinstance(rows, Changed)
    both = Changed(rows.words, rows.rank, ("x", _UPSTREAM), rows.into, rows.back)
    return [_as_it_is(whole.words), _laid(both, wanted), Laid("(E,), one vector", _by_vector(wanted))]


def along_first_axis(laid: Laid) -> Laid:
    """Return a layout in which vectors lie along the first axis, as the forward pass was asked for."""

    def call(inner: Gradients, arguments: Arguments) -> list[Any]:
        def turned(laid_out: Arguments) -> list[Any]:
            moved = {name: last_axis_first(laid_out[name]) for name in ("x", _UPSTREAM)}
            return [last_axis_again(one) for one in inner({**laid_out, **moved})]

        return laid.call(turned, arguments)

    return Laid(f"{laid.words}; along the first axis", call)


def _as_it_is(words: str) -> Laid:
    return Laid(words, lambda inner, arguments: list(inner(arguments)))


def _laid(layout: Layout, wanted: Sequence[str]) -> Laid:
    if isinstance(layout, Changed):
        return Laid(layout.words, _changed(layout, wanted))
    if isinstance(layout, OneByOne):
        return Laid(layout.words, _one_by_one(layout))
    return _as_it_is(layout.words)


def _changed(layout: Changed, wanted: Sequence[str]) -> Callable[[Gradients, Arguments], list[Any]]:
    def call(inner: Gradients, arguments: Arguments) -> list[Any]:
        found: list[Any] = []

        def kept(given: Arguments) -> Any:
            found.extend(inner(given))
            # What the layout makes of a result is of no use here: each gradient has a shape of its own.
            return given[layout.names[0]]

        layout.call(kept, arguments)
        return [
            layout.back(one, shape_of(arguments[name])) if name in layout.names else one
            for name, one in zip(wanted, found, strict=True)
        ]

    return call


def _one_by_one(layout: OneByOne) -> Callable[[Gradients, Arguments], list[Any]]:
    def call(inner: Gradients, arguments: Arguments) -> list[Any]:
        found: list[Sequence[Any]] = []

        def kept(given: Arguments) -> Any:
            found.append([layout.back(one) for one in inner(given)])
            # What the layout makes of a result is of no use here.
            return given[layout.names[0]]

        layout.call(kept, arguments)
        outer = shape_of(arguments[layout.names[0]])[: layout.axes]
        return [
            reshaped(stacked([one[place] for one in found]), (*outer, *shape_of(found[0][place])))
            for place in range(len(found[0]))
        ]

    return call


def _by_vector(wanted: Sequence[str]) -> Callable[[Gradients, Arguments], list[Any]]:
    """Return the calls for each vector: gradients of what all vectors share are added."""

    def call(inner: Gradients, arguments: Arguments) -> list[Any]:
        x, upstream = arguments["x"], arguments[_UPSTREAM]
        shape = shape_of(x)
        flat = (size_of(shape[:-1]), shape[-1])
        rows, its = reshaped(x, flat), reshaped(upstream, flat)
        if not flat[0]:
            raise ValueError("the function takes one vector, and there is none")
        found = [inner({**arguments, "x": part_of(rows, i), _UPSTREAM: part_of(its, i)}) for i in range(flat[0])]
        together: list[Any] = []
        for place, name in enumerate(wanted):
            parts = [one[place] for one in found]
            together.append(reshaped(stacked(parts), shape) if name == "x" else sum(parts[1:], parts[0]))
        return together

    return call


def _flat_tokens(inner: Gradients, arguments: Arguments) -> list[Any]:
    logits, targets = arguments["logits"], arguments["targets"]
    number = size_of(shape_of(targets))
    flat = {"logits": reshaped(logits, (number, shape_of(logits)[-1])), "targets": reshaped(targets, (number,))}
    return [reshaped(one, shape_of(logits)) for one in inner({**arguments, **flat})]
