"""Angles as clocks: a row for each position, a column for each pair of components."""

from __future__ import annotations

import math

from markupsafe import Markup
from veriformer.pictures.html.svg import circle, drawing, line, text
from veriformer.pictures.html.tables import scrolling
from veriformer.pictures.labels import clock_column_labels, clock_row_labels
from veriformer.pictures.model import Clocks
from veriformer.pictures.words import words

_CELL, _RADIUS = 46.0, 18.0
_TOP = 24.0
_CHARACTER = 8.0
_WIDE = 300.0


def clocks(clocks: Clocks) -> Markup:
    """Return the drawing of the clocks, which scrolls where there are many."""
    rows, columns = clock_row_labels(clocks), clock_column_labels(clocks)
    left = _CHARACTER * max(map(len, rows), default=0) + 12
    middle = [left + _CELL * (column + 0.5) for column in range(len(columns))]
    parts = [text(label, x, _TOP - 8, "middle") for label, x in zip(columns, middle, strict=True)]
    for number, (label, angles) in enumerate(zip(rows, clocks.angles, strict=True)):
        y = _TOP + _CELL * (number + 0.5)
        parts.append(text(label, left - 8, y + 4, "end"))
        parts += [_clock(x, y, angle) for x, angle in zip(middle, angles, strict=False)]
    size = left + _CELL * len(columns) + 4, _TOP + _CELL * len(rows) + 4
    image = drawing(clocks.title, words(clocks), size, parts)
    title = Markup('<div class="vf-title">{}</div>').format(clocks.title) if clocks.title else Markup()
    box = scrolling(image, words(clocks), "vf-full", wide=size[0] > _WIDE)
    return Markup('<div class="vf-part">{}{}</div>').format(title, box)


def _clock(x: float, y: float, angle: float) -> Markup:
    face = circle("face", x, y, _RADIUS) + line("noon", x, y - _RADIUS, x, y - _RADIUS + 4)
    if not math.isfinite(angle):
        return face + text("?", x, y + 5, "middle")
    across, up = (_RADIUS - 4) * math.sin(angle), (_RADIUS - 4) * math.cos(angle)
    return face + line("hand", x, y, x + across, y - up) + circle("end", x + across, y - up, 3)
