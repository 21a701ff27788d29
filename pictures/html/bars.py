"""An error on a logarithmic bar, whose hatched part is what rounding explains."""

from __future__ import annotations

import math

from markupsafe import Markup
from veriformer.pictures.html.svg import circle, drawing, hatched, line, path, text
from veriformer.pictures.model import ErrorBar
from veriformer.pictures.scales import Scale, bar_scale
from veriformer.pictures.words import excess, words

_WIDTH, _HEIGHT = 360.0, 84.0
_LEFT, _RIGHT = 16.0, 344.0
_TOP, _BOTTOM = 26.0, 50.0
_MIDDLE = (_TOP + _BOTTOM) / 2


def error_bar(bar: ErrorBar) -> Markup:
    """Return the drawing of an error bar with its sentence."""
    scale = bar_scale(bar)
    explained = _x(scale, bar.explained)
    parts = [
        hatched(_LEFT, _TOP, explained - _LEFT, _BOTTOM - _TOP),
        line("axis", _LEFT, _BOTTOM, _RIGHT, _BOTTOM),
        *_ticks(scale),
        line("limit", explained, _TOP - 6, explained, _BOTTOM),
        text("rounding", explained - 4, _TOP - 8, "end") if explained > 90 else text("rounding", _LEFT, _TOP - 8),
        *_error(scale, bar),
    ]
    image = drawing(bar.title, words(bar), (_WIDTH, _HEIGHT), parts)
    title = Markup('<div class="vf-title">{}</div>').format(bar.title) if bar.title else Markup()
    said = Markup('<div class="vf-note">{}</div>').format(excess(bar))
    return Markup('<div class="vf-part">{}{}{}</div>').format(title, image, said)


def _error(scale: Scale, bar: ErrorBar) -> list[Markup]:
    """Return a dot inside what rounding explains, a cross outside: the two differ without colour."""
    x = _x(scale, bar.error)
    if bar.error <= bar.explained:
        return [circle("within", x, _MIDDLE, 6)]
    arms = f"M{x - 6:g} {_MIDDLE - 6:g}L{x + 6:g} {_MIDDLE + 6:g}M{x - 6:g} {_MIDDLE + 6:g}L{x + 6:g} {_MIDDLE - 6:g}"
    label = "error →" if not math.isfinite(bar.error) else "error"
    return [path("beyond", arms), text(label, min(x, _RIGHT - 16), _TOP - 8, "middle", "text vf-strong")]


def _ticks(scale: Scale) -> list[Markup]:
    marks = []
    for tick in scale.ticks:
        x = _LEFT + tick.share * (_RIGHT - _LEFT)
        anchor = "start" if tick.share < 0.02 else "end" if tick.share > 0.98 else "middle"
        marks += [line("axis", x, _BOTTOM, x, _BOTTOM + 5), text(tick.label, x, _BOTTOM + 19, anchor)]
    return marks


def _x(scale: Scale, value: float) -> float:
    return _LEFT + scale.share(value) * (_RIGHT - _LEFT)
