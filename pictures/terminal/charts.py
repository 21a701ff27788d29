"""Curves as signs on a small field, each curve with a sign of its own."""

from __future__ import annotations

from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.model import Chart, Line
from veriformer.pictures.scales import Scale, chart_scales, drawable
from veriformer.pictures.terminal.texts import folded, padded, printable

_SIGNS = "●▲■○△□◆◇"
_COLOURS = ("blue", "yellow", "green", "magenta", "cyan", "red")
_HEIGHT = 10
_LONGEST, _SHORTEST = 60, 8
_Field = list[list[tuple[str, str]]]


def chart(chart: Chart, width: int) -> list[Text]:
    """Return the field between its axes, and what the signs stand for."""
    scales = chart_scales(chart)
    margin = max((cell_len(tick.label) for tick in scales[1].ticks), default=0)
    length = max(min(_LONGEST, width - margin - 2), _SHORTEST)
    field: _Field = [[(" ", "")] * length for _ in range(_HEIGHT)]
    for number, line in enumerate(chart.lines):
        _draw(field, line, (_SIGNS[number % len(_SIGNS)], _COLOURS[number % len(_COLOURS)]), chart, scales)
    return [
        *folded(chart.title, width, "bold"),
        *folded(chart.y_axis, width, "dim"),
        *_with_axes(field, scales, margin),
        *folded(chart.x_axis, width, "dim"),
        *(line for number, one in enumerate(chart.lines) for line in _key(number, one, width) if len(chart.lines) > 1),
    ]


def _draw(field: _Field, line: Line, sign: tuple[str, str], chart: Chart, scales: tuple[Scale, Scale]) -> None:
    across, down = len(field[0]) - 1, len(field) - 1
    places = [(scales[0].share(x) * across, (1 - scales[1].share(y)) * down) for x, y in drawable(line.points, chart)]
    for x, y in places:
        field[round(y)][round(x)] = sign
    for (x, y), (next_x, next_y) in pairwise(sorted(places)):
        for column in range(round(x) + 1, round(next_x)):
            field[round(y + (next_y - y) * (column - x) / (next_x - x))][column] = sign


def _with_axes(field: _Field, scales: tuple[Scale, Scale], margin: int) -> list[Text]:
    labels = {round((1 - tick.share) * (len(field) - 1)): tick.label for tick in scales[1].ticks}
    rows = [
        Text.assemble(padded(labels.get(number, ""), margin, "dim"), ("┤" if number in labels else "│", "dim"), *row)
        for number, row in enumerate(field)
    ]
    return [*rows, Text(" " * margin + "└" + "─" * len(field[0]), "dim"), _ticks(scales[0], margin, len(field[0]))]


def _ticks(scale: Scale, margin: int, length: int) -> Text:
    """Return the labels below the field, each that does not run into the one before or over the edge."""
    line = ""
    for tick in scale.ticks:
        place = margin + 1 + round(tick.share * (length - 1)) - (cell_len(tick.label) - 1) // 2
        if place > len(line) and place + cell_len(tick.label) <= margin + 1 + length:
            line = line.ljust(place) + tick.label
    return Text(line, "dim")


def _key(number: int, line: Line, width: int) -> list[Text]:
    sign = Text(f"{_SIGNS[number % len(_SIGNS)]} ", _COLOURS[number % len(_COLOURS)])
    names = folded(printable(line.label), max(width - 2, 1))
    return [(sign if not place else Text("  ")) + name for place, name in enumerate(names)]
