"""The position of the first row, which a rotation with a cache takes (`offset`, `past_len`): the rows follow it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import special
from veriformer.adapters.matching.forms import Form, Source
from veriformer.adapters.matching.layouts import Arguments, Around, Inner, Layout
from veriformer.adapters.matching.offsets import offset_in
from veriformer.adapters.matching.places import FARTHEST, ByPlace, SampleBySample
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.trying import Trials

OPERATION = "rotary_embedding"
_FIRST = "position of the first row"
_SHIFT = 3


@dataclass(frozen=True)
class FromOffset(Around):
    """A layout of a rotation that takes the first position, where the positions of its rows follow each other."""

    for_each_sample: ClassVar[bool] = True
    framework: ArrayFramework

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the turned rows, which are moved to their places where their positions do not follow each other."""
        positions = self.framework.to_numpy(arguments["positions"])
        first = int(positions[0]) if positions.ndim == 1 and positions.size else -1
        if not 0 <= first <= FARTHEST or not np.array_equal(positions, first + np.arange(positions.size)):
            return self.layout.call(inner, arguments)
        as_they_are = self.layout.layout if isinstance(self.layout, ByPlace) else self.layout
        return as_they_are.call(inner, {**arguments, _FIRST: first})


def with_offset(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a rotation that is given the position of its first row, where it takes that."""
    name = offset_in(found)
    if form.operation != OPERATION or name is None or special.named_places(found) is not None:
        return form
    tables = {table: _of_more_rows(form.sources[table], trials.framework) for table in special.tables_in(form)}
    placed = replace(
        form,
        sources={**form.sources, **tables, name: lambda arguments: arguments.get(_FIRST, 0)},
        layout=_from_offset(form.layout, trials.framework),
        words=(*form.words, f"`{name}`: the position of the first row"),
    )
    result = trials.result(placed, probe.with_argument("positions", probe.arguments["positions"] + _SHIFT))
    return form if result is None or result.shape != probe.expected.shape else placed


def _from_offset(layout: Layout, framework: ArrayFramework) -> Layout:
    if isinstance(layout, SampleBySample):
        return SampleBySample(FromOffset(layout.layout, framework))
    return FromOffset(layout, framework)


def _of_more_rows(table: Source, framework: ArrayFramework) -> Source:
    """Return the source of a table that begins at position 0 where the function takes the position of its first row."""

    def source(arguments: Arguments) -> Any:
        if _FIRST not in arguments:
            return table(arguments)
        last = int(framework.to_numpy(arguments["positions"]).max(initial=0))
        return table({**arguments, "positions": framework.from_numpy(np.arange(last + 1))})

    return source
