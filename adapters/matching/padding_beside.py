"""Attention that takes a mask of padding beside its mask: what hides a key from all queries of a sample is padding.

So one mask of the interface becomes two, which together hide what it hides, and neither of them alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.encodings import Encoding, by_name
from veriformer.adapters.matching.forms import LEFT_OUT, Form
from veriformer.adapters.matching.layouts import Arguments, Around, Inner
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.sources import Taken, padding_in
from veriformer.adapters.matching.texts import says_hidden
from veriformer.adapters.matching.trying import Trials

VISIBLE = "keys that are no padding"
"""The name of what a call has besides its arguments: which keys of each sample are no padding, (B, 1, 1, S)."""
_SHAPES = {"(B, S)": (0, 3), "(B, 1, 1, S)": (0, 1, 2, 3)}


@dataclass(frozen=True)
class PaddingBeside(Around):
    """A layout in which a mask that all queries share is given as padding, and another one in two parts."""

    framework: ArrayFramework
    rearranged_with: ClassVar[tuple[str, ...]] = ()

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns."""
        mask = arguments.get("mask")
        if mask is None:
            return self.layout.call(inner, arguments)
        logits = _shape_of_logits(arguments)
        visible = np.broadcast_to(self.framework.to_numpy(mask), logits)
        kept = np.asarray(visible.any(axis=(1, 2), keepdims=True))
        given = {name: value for name, value in arguments.items() if name != "mask"} | {VISIBLE: self._array(kept)}
        if len(shape_of(mask)) == len(logits) and shape_of(mask)[1:3] == (1, 1):
            return self.layout.call(inner, given)
        # A mask that leaves each key to some query stays as it is, with the axes that it has.
        other = mask if kept.all() else self._array(visible | ~kept)
        return self.layout.call(inner, {**given, "mask": other})

    def _array(self, truths: np.ndarray) -> Any:
        return self.framework.from_numpy(np.ascontiguousarray(truths))


def _shape_of_logits(arguments: Arguments) -> tuple[int, ...]:
    """Return the sizes (B, H, L, S) of a call of an attention, or of one with weights."""
    if "query" in arguments:
        return (*shape_of(arguments["query"])[:3], shape_of(arguments["key"])[2])
    samples, length = shape_of(arguments["x"])[:2]
    return samples, int(arguments["num_heads"]), length, shape_of(arguments.get("context", arguments["x"]))[1]


def takes_padding(form: Form, found: Taken) -> bool:
    """Return whether a function has a parameter that is padding, which no call gives it yet."""
    name = padding_in(found)
    return name is not None and form.sources[name] is found.sources[name]


def with_padding(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form that is given padding too, the form itself where no parameter is padding or none is understood.

    Where no kind of padding gives the results that padding has, the likest does.
    """
    name = padding_in(found)
    if name is None or not takes_padding(form, found):
        return form
    samples, _, _, columns = probe.arguments["mask"].shape
    mask = probe.arguments["mask"].copy()
    # Padding at the end of the one sample, and at the start of the others.
    mask[0, :, :, columns - 2 :] = False
    mask[1:samples, :, :, 1] = False
    masked = probe.with_argument("mask", mask)
    best, _ = trials.fitting(_forms(trials, form, name), masked)
    return best or form


def _forms(trials: Trials, form: Form, name: str) -> Iterator[Form]:
    for shape, axes in _SHAPES.items():
        for encoding in by_name(name, says_hidden(trials.function, name)):
            given = replace(form, layout=PaddingBeside(form.layout, trials.framework))
            yield given.with_source(name, _source(encoding, axes), "mask", f"`{name}`: {shape}, {encoding.words}")


def _source(encoding: Encoding, axes: tuple[int, ...]) -> Any:
    def source(arguments: Arguments) -> Any:
        visible = arguments.get(VISIBLE)
        if visible is None:
            return LEFT_OUT
        of_shape = visible if len(axes) == len(shape_of(visible)) else visible[:, 0, 0]
        return encoding.of(of_shape, arguments)

    return source
