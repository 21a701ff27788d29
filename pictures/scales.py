"""Axes of error bars and charts: where a value lies between the ends, and which values are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from veriformer.pictures.model import Chart, ErrorBar
from veriformer.pictures.numbers import number, power_of_ten

_MOST_TICKS = 5


@dataclass(frozen=True)
class Tick:
    """A labelled value and its place, from 0 to 1."""

    label: str
    share: float


@dataclass(frozen=True)
class Scale:
    """An axis from `first` to `last`; on a logarithmic one these are exponents of ten."""

    first: float
    last: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 to 1; what lies outside, or is no number, is put at an end."""
        if math.isnan(value):
            return 1.0
        if self.logarithmic:
            value = math.log10(value) if value > 0 else -math.inf
        return min(max((value - self.first) / (self.last - self.first), 0.0), 1.0)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """A few round values."""
        span = self.last - self.first
        step = max(1, math.ceil(span / _MOST_TICKS)) if self.logarithmic else _round_step(span)
        first = math.ceil(self.first / step - 1e-9)
        values = [(first + k) * step for k in range(int((self.last - first * step) / step + 1e-9) + 1)]
        labels = [power_of_ten(round(value)) if self.logarithmic else number(value, 6) for value in values]
        return tuple(Tick(label, (value - self.first) / span) for label, value in zip(labels, values, strict=True))


def bar_scale(bar: ErrorBar) -> Scale:
    """Return the axis of an error bar, with a decade to spare on both sides."""
    exponents = [math.log10(value) for value in (bar.error, bar.explained) if 0 < value < math.inf]
    if not exponents:
        return Scale(-1, 1, True)
    return Scale(math.floor(min(exponents) - 0.5), math.ceil(max(exponents) + 0.5), True)


def chart_scales(chart: Chart) -> tuple[Scale, Scale]:
    """Return the axes of a chart, which hold all points that can be drawn."""
    points = [point for line in chart.lines for point in line.points]
    x = _scale((point[0] for point in points), "x" in chart.logarithmic)
    return x, _scale((point[1] for point in points), "y" in chart.logarithmic)


def drawable(points: Iterable[tuple[float, float]], chart: Chart) -> list[tuple[float, float]]:
    """Return the points that have a place on the axes: finite ones, on logarithmic axes only positive ones."""
    return [
        (x, y)
        for x, y in points
        if math.isfinite(x)
        and math.isfinite(y)
        and (x > 0 or "x" not in chart.logarithmic)
        and (y > 0 or "y" not in chart.logarithmic)
    ]


def _scale(values: Iterable[float], logarithmic: bool) -> Scale:
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not logarithmic)]
    if not finite:
        return Scale(0.0, 1.0, logarithmic)
    if logarithmic:
        lowest, highest = math.log10(min(finite)), math.log10(max(finite))
        if highest - lowest >= 2:
            return Scale(lowest, highest, True)
        # Whole decades, since only these are labelled.
        return Scale(math.floor(lowest), max(math.ceil(highest), math.floor(lowest) + 1), True)
    first, last = min(finite), max(finite)
    margin = (last - first) * 0.02 or max(abs(first), 1.0) * 0.5
    return Scale(first - margin, last + margin, False)


def _round_step(span: float) -> float:
    """Return the step, one of 1, 2 or 5 times a power of ten, that cuts a span into a few."""
    rough = span / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next((step * power for step in (1.0, 2.0, 5.0) if step * power >= rough), 10.0 * power)
