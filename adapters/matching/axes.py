"""A softmax whose caller names the axis is judged along the first one: a function that ignores the name fails there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments, Around, Inner, Layout, of_vectors
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import shape_of, transposed
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.sources import LAST_AXIS, Taken
from veriformer.adapters.matching.trying import Trials

_COLUMNS = {3: "(E, …), each column a vector", 2: "(E, columns), each column a vector"}


@dataclass(frozen=True)
class OfFirstAxis(Around):
    """A layout of vectors along the first axis."""

    is_asked_for: bool = True

    @property
    def words(self) -> str:
        """What the function is given: a softmax that is asked for the axis is given what the inner layout says."""
        return self.layout.words if self.is_asked_for else _COLUMNS[self.layout.rank]

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the result, with vectors along the last axis."""

        def turned(laid_out: Arguments) -> Any:
            return last_axis_again(inner({**laid_out, "x": last_axis_first(laid_out["x"])}))

        return self.layout.call(turned, arguments)


def of_vectors_or_columns(name: str) -> list[Layout]:
    """Return the layouts of vectors along the last axis, those along the first before that of one vector alone."""
    *several, one = of_vectors(name)
    return [*several, *(OfFirstAxis(layout, is_asked_for=False) for layout in several), one]


def last_axis_first(array: Any) -> Any:
    """Return an array whose last axis is the first one."""
    rank = len(shape_of(array))
    return transposed(array, (rank - 1, *range(rank - 1)))


def last_axis_again(array: Any) -> Any:
    """Return an array whose first axis is the last one."""
    return transposed(array, (*range(1, len(shape_of(array))), 0))


def with_its_axis(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a softmax that is asked for the first axis; itself where it takes none, or not that one."""
    name = next((one for one in found.sources if folded(one) in LAST_AXIS and one not in found.roles), None)
    if form.operation != "softmax" or name is None:
        return form
    asked = replace(
        form,
        sources={**form.sources, name: lambda _: 0},
        layout=OfFirstAxis(form.layout),
        words=(*form.words, f"called with `{name}` = 0"),
    )
    result = trials.result(asked, probe)
    return form if result is None or result.shape != probe.expected.shape else asked
