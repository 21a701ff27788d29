"""Curves over one axis, each with its own colour, dashes and marks."""

from __future__ import annotations

from markupsafe import Markup
from veriformer.pictures.html.svg import circle, drawing, line, path, text
from veriformer.pictures.model import Chart, Line
from veriformer.pictures.prose import in_letters
from veriformer.pictures.scales import Scale, chart_scales, drawable
from veriformer.pictures.words import words

_WIDTH, _HEIGHT = 420.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 396.0, 26.0, 216.0
_STYLES = 6
# More would hide the line.
_MOST_DOTS = 16


def chart(chart: Chart) -> Markup:
    """Return the drawing of a chart, and below it the names of its lines."""
    scales = chart_scales(chart)
    lines = [_curve(number, one, chart, scales) for number, one in enumerate(chart.lines)]
    named = in_letters(chart.title)
    image = drawing(named, in_letters(words(chart)), (_WIDTH, _HEIGHT), [*_axes(chart, scales), *lines])
    title = Markup('<div class="vf-title">{}</div>').format(named) if named else Markup()
    keys = Markup().join(_key(number, one) for number, one in enumerate(chart.lines))
    legend = Markup('<div class="vf-legend">{}</div>').format(keys) if len(chart.lines) > 1 else Markup()
    return Markup('<div class="vf-part">{}{}{}</div>').format(title, image, legend)


def _axes(chart: Chart, scales: tuple[Scale, Scale]) -> list[Markup]:
    parts = [line("axis", _LEFT, _BOTTOM, _RIGHT, _BOTTOM), line("axis", _LEFT, _TOP, _LEFT, _BOTTOM)]
    for tick in scales[0].ticks:
        x = _LEFT + tick.share * (_RIGHT - _LEFT)
        parts += [line("axis", x, _BOTTOM, x, _BOTTOM + 5), text(tick.label, x, _BOTTOM + 19, "middle")]
    for tick in scales[1].ticks:
        y = _BOTTOM - tick.share * (_BOTTOM - _TOP)
        parts += [line("guide", _LEFT, y, _RIGHT, y), text(tick.label, _LEFT - 7, y + 4, "end")]
    parts.append(text(in_letters(chart.x_axis), (_LEFT + _RIGHT) / 2, _HEIGHT - 8, "middle"))
    parts.append(text(in_letters(chart.y_axis), 4, 14))
    return parts


def _curve(number: int, one: Line, chart: Chart, scales: tuple[Scale, Scale]) -> Markup:
    places = [
        (_LEFT + scales[0].share(x) * (_RIGHT - _LEFT), _BOTTOM - scales[1].share(y) * (_BOTTOM - _TOP))
        for x, y in drawable(one.points, chart)
    ]
    if not places:
        return Markup()
    commands = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    kind = number % _STYLES
    dots = places if len(places) <= _MOST_DOTS else [places[0], places[-1]]
    return path(f"curve vf-curve-{kind}", commands) + Markup().join(
        circle(f"dot vf-dot-{kind}", x, y, 3) for x, y in dots
    )


def _key(number: int, one: Line) -> Markup:
    sample = Markup('<svg class="vf-sample" aria-hidden="true" viewBox="0 0 32 10" width="32" height="10">{}</svg>')
    stroke = line(f"curve vf-curve-{number % _STYLES}", 0, 5, 32, 5)
    return Markup('<span class="vf-key">{} {}</span>').format(sample.format(stroke), in_letters(one.label))
