"""Attention that takes the number of keys that may be attended, one for each sample or each query.

Each query of each head becomes a sample with its own keys, those that its mask shows first: so a length says all that a
mask says, since attention does not depend on the order of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.by_query import WITH_HEADS, Samples, refuse_positions
from veriformer.adapters.matching.forms import LEFT_OUT, Form, Source
from veriformer.adapters.matching.layouts import Arguments, Around, Inner, joins_heads
from veriformer.adapters.matching.names import LENGTHS, folded
from veriformer.adapters.matching.namespaces import reshaped, rows_at, shape_of, transposed
from veriformer.adapters.matching.sources import Taken, needs_heads

_SHAPES = {"(B,)": 1, "(B, L)": 2}
_LENGTHS = "lengths of the visible keys"


@dataclass(frozen=True)
class ByLength(Around):
    """A layout in which a call with a mask has a sample for each query of each head, with its visible keys first."""

    framework: ArrayFramework
    axes: int
    all_queries: bool = False
    rearranged_with: ClassVar[tuple[str, ...]] = ("mask",)

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all queries; ValueError with what depends on a key's position."""
        mask = arguments.get("mask")
        if mask is None:
            return self.layout.call(inner, arguments)
        refuse_positions(arguments)
        # A function that is told how many heads there are gets all of them.
        all_heads = joins_heads(self.layout)
        one_head = self.layout.rank < WITH_HEADS and not all_heads
        samples = Samples.of(arguments, one_head=one_head, all_heads=all_heads, all_queries=self.all_queries)
        visible = self.framework.to_numpy(samples.rows_of(mask))
        count, columns = visible.shape
        order = np.argsort(~visible, axis=1, kind="stable") + np.arange(count)[:, None] * columns
        places = self.framework.from_numpy(order.reshape(-1).astype(np.int64))
        arrays = {**samples.arrays, **{name: _in_order(samples.arrays[name], places) for name in ("key", "value")}}
        ordered = replace(samples, arrays=arrays)
        lengths = visible.sum(axis=1).astype(np.int64)
        rows = shape_of(samples.arrays["query"])[2]
        lengths = lengths if self.axes == 1 else np.repeat(lengths[:, None], rows, axis=1)

        def of_part(part: slice) -> Any:
            given = {
                name: value for name, value in {**arguments, **ordered.only(part).arrays}.items() if name != "mask"
            }
            return self.layout.call(inner, {**given, _LENGTHS: self.framework.from_numpy(lengths[part])})

        return ordered.own_ones(of_part)


def _in_order(array: Any, places: Any) -> Any:
    count, groups, length, width = shape_of(array)
    keys_first = transposed(array, (0, 2, 1, 3))
    ordered = rows_at(reshaped(keys_first, (count * length, groups * width)), places)
    return transposed(reshaped(ordered, (count, length, groups, width)), (0, 2, 1, 3))


def parameter_of(found: Taken) -> str:
    """Return the parameter that has lengths of keys; empty where there is none."""
    return next((name for name in found.sources if name not in found.roles and folded(name) in LENGTHS), "")


def with_all_keys(form: Form, found: Taken, framework: ArrayFramework) -> list[Form]:
    """Return the forms in which lengths that must be given are those of all keys, of each sample or each head of it."""
    name = parameter_of(found)
    if not name or name not in found.needed:
        return [form]
    alike = replace(form, sources={**form.sources, name: partial(_given_or_all, framework, 1)})
    if not needs_heads(found):
        return [alike]
    return [replace(form, sources={**form.sources, name: partial(_of_samples_or_all, framework)}), alike]


def forms_of(form: Form, found: Taken, framework: ArrayFramework, *, all_queries: bool) -> Iterator[Form]:
    """Yield the forms in which the lengths stand for a mask."""
    name = parameter_of(found)
    for shape, axes in _SHAPES.items() if name else ():
        source: Source = _given
        if name in found.needed:
            # One length for each sample is given already: that of all keys.
            source = form.sources[name] if axes == 1 else partial(_given_or_all, framework, axes)
        layout = ByLength(form.layout, framework, axes, all_queries)
        yield replace(form, layout=layout).with_source(name, source, "mask", f"`{name}`: {shape}, the visible keys")


def _given(arguments: Arguments) -> Any:
    return arguments.get(_LENGTHS, LEFT_OUT)


def _of_samples_or_all(framework: ArrayFramework, arguments: Arguments) -> Any:
    """Return the lengths of a function whose first axis has the heads of each sample."""
    if _LENGTHS in arguments:
        return arguments[_LENGTHS]
    rows, columns = shape_of(arguments["query"])[0], shape_of(arguments["key"])[-2]
    return framework.from_numpy(np.full((rows // max(arguments.get("num_heads", 1), 1),), columns, dtype=np.int64))


def _given_or_all(framework: ArrayFramework, axes: int, arguments: Arguments) -> Any:
    if _LENGTHS in arguments:
        return arguments[_LENGTHS]
    queries, keys = shape_of(arguments["query"]), shape_of(arguments["key"])
    # One sample in a layout without samples has one length.
    shape = () if len(queries) == 2 else (queries[0], queries[-2])[:axes]
    return framework.from_numpy(np.full(shape, keys[-2], dtype=np.int64))
