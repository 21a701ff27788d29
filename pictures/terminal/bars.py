"""An error on one line: "1e-8 ░░░░|····● 0.03"."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.model import ErrorBar
from veriformer.pictures.numbers import power_of_ten
from veriformer.pictures.scales import bar_scale
from veriformer.pictures.terminal.texts import folded
from veriformer.pictures.words import excess

_LONGEST, _SHORTEST = 48, 6


def error_bar(bar: ErrorBar, width: int) -> list[Text]:
    """Return the bar, the shaded part of which rounding explains, and its sentence."""
    scale = bar_scale(bar)
    ends = power_of_ten(round(scale.first)), power_of_ten(round(scale.last))
    length = max(min(_LONGEST, width - sum(map(cell_len, ends)) - 2), _SHORTEST)
    limit, error = (round(scale.share(value) * (length - 1)) for value in (bar.explained, bar.error))
    beyond = not bar.error <= bar.explained
    if beyond:
        # The picture must not say that rounding explains what it does not.
        limit = min(limit, length - 2)
        error = max(error, limit + 1)
    parts = [("░" if place < limit else "·", "blue" if place < limit else "dim") for place in range(length)]
    parts[limit] = ("|", "bold blue")
    parts[error] = ("✗", "bold red") if beyond else ("●", "bold blue")
    drawn = Text.assemble((f"{ends[0]} ", "dim"), *parts, (f" {ends[1]}", "dim"))
    return [*folded(bar.title, width, "bold"), drawn, *folded(excess(bar), width, "dim")]
