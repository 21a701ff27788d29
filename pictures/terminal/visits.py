"""Which regions of the case space were visited: a line or more for each axis."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from veriformer.pictures.model import Region, Visits
from veriformer.pictures.terminal.texts import folded, printable

_GAP = 2


def visits(visits: Visits, width: int) -> list[Text]:
    """Return the regions of each axis with their numbers of cases, those without any marked."""
    lines = folded(visits.title, width, "bold")
    for axis, regions in visits.axes:
        lines += [*folded(axis, width, "dim"), *_regions(regions, width)]
    return lines


def _regions(regions: tuple[Region, ...], width: int) -> list[Text]:
    lines: list[Text] = []
    for region in regions:
        chip = _chip(region)
        if lines and lines[-1].cell_len + _GAP + chip.cell_len <= width:
            lines[-1] = Text(" " * _GAP).join([lines[-1], chip])
        else:
            lines.append(Text("  ") + chip if cell_len(chip.plain) + 2 <= width else chip)
    return lines


def _chip(region: Region) -> Text:
    label = printable(region.label)
    if not region.cases:
        return Text.assemble(("○ ", "bold yellow"), label, (" none", "yellow"))
    return Text.assemble(("● ", "blue"), label, (f" {region.cases:,}", "dim"))
