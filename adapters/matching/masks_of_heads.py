"""Masks of multi-head attention with fewer axes than the interface's: without heads, samples or queries.

The result is a sum over heads, so that a call in which one head alone has a matrix for its output gives that head's
summand under its own mask. Samples and queries with masks of their own have calls of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import by_length, padding_beside
from veriformer.adapters.matching.encodings import Encoding, said_kinds
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments, Around, Inner
from veriformer.adapters.matching.masks import encoded
from veriformer.adapters.matching.namespaces import broadcast, joined, part_of, reshaped, shape_of, zeros_like
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.special import drawn_mask
from veriformer.adapters.matching.texts import asks_for_booleans, says_hidden
from veriformer.adapters.matching.trying import Trials

OPERATION = "multi_head_attention"
# The axes that a mask may have, of samples, heads, queries and keys; "1" is one of size 1.
_WHOLE = "BHLS"
_AXES = ("BHLS", "B1LS", "BLS", "LS", "BS", "B11S")
_OF_SAMPLES = ("x", "context", padding_beside.VISIBLE)
_SHAPES = {axes: f"({', '.join(axes)})" for axes in _AXES}


@dataclass(frozen=True)
class OfHeads(Around):
    """A layout of multi-head attention whose mask lacks some axes: it is called for each place along these."""

    axes: str
    rearranged_with: ClassVar[tuple[str, ...]] = ("mask",)

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all heads, queries and samples with masks of their own."""
        mask = arguments.get("mask")
        if mask is None or self.axes == _WHOLE:
            return self.layout.call(inner, arguments)
        shape = (*[1] * (4 - len(shape_of(mask))), *shape_of(mask))
        mask = broadcast(mask, shape)
        results = [self._of_samples(inner, arguments, mask, samples) for samples in self._parts("B", arguments, shape)]
        return joined(results, 0) if len(results) > 1 else results[0]

    def _of_samples(self, inner: Inner, arguments: Arguments, mask: Any, samples: slice) -> Any:
        given = {**arguments, **{name: arguments[name][samples] for name in _OF_SAMPLES if name in arguments}}
        mask = part_of(mask, samples) if shape_of(mask)[0] > 1 else mask
        rows = [self._of_rows(inner, given, mask, rows) for rows in self._parts("L", arguments, shape_of(mask))]
        return joined(rows, 1) if len(rows) > 1 else rows[0]

    def _of_rows(self, inner: Inner, arguments: Arguments, mask: Any, rows: slice) -> Any:
        whole = slice(None)
        mask = part_of(mask, (whole, whole, rows)) if shape_of(mask)[2] > 1 else mask
        heads = self._parts("H", arguments, shape_of(mask))
        if len(heads) == 1:
            return self._called(inner, arguments, mask)[:, rows]
        summands = [
            self._called(inner, _with_one_head(arguments, head, len(heads)), part_of(mask, (whole, head)))[:, rows]
            for head in heads
        ]
        return reduce(add, summands)

    def _called(self, inner: Inner, arguments: Arguments, mask: Any) -> Any:
        """Return what the function returns for a mask of four axes, some of size 1, as one of the axes that it has."""
        keys = shape_of(arguments.get("context", arguments["x"]))[1]
        sizes = {"B": shape_of(arguments["x"])[0], "1": 1, "L": shape_of(arguments["x"])[1], "S": keys}
        at = dict(zip(_WHOLE, shape_of(mask), strict=True))
        # What the function's mask has no axis for is of size 1 now.
        full = [sizes[one] if one in self.axes else at[one] for one in _WHOLE]
        return self.layout.call(inner, {**arguments, "mask": reshaped(broadcast(mask, full), self._sizes(sizes))})

    def _sizes(self, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple(sizes[one] for one in self.axes)

    def _parts(self, axis: str, arguments: Arguments, shape: Sequence[int]) -> list[slice]:
        """Return the parts along an axis in which the function is called: the whole where its mask has that axis."""
        count = shape[_WHOLE.index(axis)]
        if axis in self.axes or count == 1:
            return [slice(None)]
        return [slice(at, at + 1) for at in range(count)]


def _with_one_head(arguments: Arguments, head: slice, heads: int) -> dict[str, Any]:
    """Return the arguments in which one head alone adds to the output; the first one's summand has the bias."""
    weights = copy(arguments["weights"])
    width = shape_of(weights.w_o)[0] // heads
    rows = weights.w_o[head.start * width : head.stop * width]
    before, after = (
        zeros_like(weights.w_o, (count * width, shape_of(weights.w_o)[1])) for count in (head.start, heads - head.stop)
    )
    weights.w_o = joined([before, rows, after], 0)
    if head.start and getattr(weights, "b_o", None) is not None:
        weights.b_o = zeros_like(weights.b_o, shape_of(weights.b_o))
    return {**arguments, "weights": weights}


def with_all_visible(form: Form, found: Taken, framework: ArrayFramework) -> list[Form]:
    """Return the forms in which lengths and a mask that must be given hide nothing; the form itself without such."""
    name = by_length.parameter_of(found)
    if name in found.needed:
        source = partial(_all_lengths, framework)
        form = replace(form, sources={**form.sources, name: source}, words=(*form.words, f"`{name}`: all keys"))
    masking = next((one for one, role in found.roles.items() if role == "mask" and one in found.needed), None)
    if masking is None:
        return [form]
    return [
        replace(form, sources={**form.sources, masking: partial(_all_visible, framework, axes, encoding)})
        for axes in ("LS", "B1LS", "BLS", "BS")
        for encoding in said_kinds(None)
    ]


def _all_lengths(framework: ArrayFramework, arguments: Arguments) -> Any:
    shape = shape_of(arguments.get("context", arguments["x"]))
    return framework.from_numpy(np.full(shape[:-2], shape[-2], dtype=np.int64))


def _all_visible(framework: ArrayFramework, axes: str, encoding: Encoding, arguments: Arguments) -> Any:
    x = arguments["x"]
    context = arguments.get("context", x)
    samples = shape_of(x)[0] if len(shape_of(x)) > len("LE") else 1
    sizes = {"B": samples, "1": 1, "L": shape_of(x)[-2], "S": shape_of(context)[-2]}
    visible = framework.from_numpy(np.ones([sizes[one] for one in axes], dtype=bool))
    return encoding.of(visible, arguments)


def with_mask(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a multi-head attention with the mask that it takes; itself where none is understood.

    A right one tells the axes and the kind of its mask. Of a wrong one it is the likeliest.
    """
    masking = next((name for name, role in found.roles.items() if role == "mask"), None)
    if masking is None:
        return form
    masked = _masked(probe)
    best = _with_likeliest(trials, form, masking, masked)
    # A function of one sample at a time has no padding of samples.
    of_samples = form.layout.rank != len("LE")
    return padding_beside.with_padding(trials, best, found, masked) if of_samples else best


def _masked(probe: Probe) -> Probe:
    x, context = probe.arguments["x"], probe.arguments.get("context", probe.arguments["x"])
    sizes = {"B": len(x), "H": int(probe.arguments["num_heads"]), "L": x.shape[1], "S": context.shape[1]}
    return probe.with_argument("mask", drawn_mask(sizes))


def _with_likeliest(trials: Trials, form: Form, masking: str, masked: Probe) -> Form:
    every = np.ones_like(masked.arguments["mask"])
    best, likest, unmasked = form, 0.0, trials.result(form, masked.with_argument("mask", every))
    for one in _forms(trials, form, masking):
        result = trials.result(one, masked)
        if result is None or result.shape != masked.expected.shape:
            continue
        if unmasked is not None and is_near(result, unmasked):
            # A mask without effect says nothing of its kind.
            continue
        if is_near(result, masked.expected):
            return one
        likeness = trials.likeness(one, masked, result)
        if likeness > likest + 1e-9:
            best, likest = one, likeness
    return best


def _forms(trials: Trials, form: Form, parameter: str) -> Iterator[Form]:
    hides = says_hidden(trials.function, parameter)
    kinds = said_kinds(hides, boolean=asks_for_booleans(trials.function, parameter))
    for axes in _AXES:
        for encoding in kinds:
            shape = _SHAPES[axes] if form.layout.rank != len("LE") else _SHAPES[axes].replace("B, ", "")
            one = encoded(form, parameter, encoding.of, f"{shape}, {encoding.words}")
            yield replace(one, layout=OfHeads(form.layout, axes))
