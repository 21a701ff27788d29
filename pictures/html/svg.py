"""The parts of a drawing: its frame with title and description, hatching, texts."""

from __future__ import annotations

from markupsafe import Markup


def drawing(title: str, description: str, size: tuple[float, float], parts: list[Markup]) -> Markup:
    """Return an image that is read aloud as its title and description."""
    width, height = (f"{length:g}" for length in size)
    return Markup(
        '<svg class="vf-drawing" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {} {}" width="{}"'
        ' height="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(width, height, width, height, title or description, description, Markup().join(parts))


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a line between two points."""
    return Markup('<line class="vf-{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        kind, *map(_rounded, (x1, y1, x2, y2))
    )


def circle(kind: str, x: float, y: float, radius: float) -> Markup:
    """Return a circle around a point."""
    return Markup('<circle class="vf-{}" cx="{}" cy="{}" r="{}"/>').format(kind, *map(_rounded, (x, y, radius)))


def path(kind: str, commands: str) -> Markup:
    """Return a path of SVG's commands."""
    return Markup('<path class="vf-{}" d="{}"/>').format(kind, commands)


def text(content: str, x: float, y: float, anchor: str = "start", kind: str = "text") -> Markup:
    """Return a text that starts, ends or has its middle at a point."""
    return Markup('<text class="vf-{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, _rounded(x), _rounded(y), anchor, content
    )


def hatched(x: float, y: float, width: float, height: float, gap: float = 6) -> Markup:
    """Return a rectangle with diagonals: patterns would need ids, which pictures on one page would share."""
    diagonals = []
    offset = gap - height
    while offset < width:
        start, end = max(0.0, -offset), min(height, width - offset)
        if start < end:
            x1, y1, x2, y2 = x + offset + start, y + height - start, x + offset + end, y + height - end
            diagonals.append(f"M{_rounded(x1)} {_rounded(y1)}L{_rounded(x2)} {_rounded(y2)}")
        offset += gap
    box = Markup('<rect class="vf-explained" x="{}" y="{}" width="{}" height="{}"/>')
    return box.format(*map(_rounded, (x, y, width, height))) + path("hatching", "".join(diagonals))


def _rounded(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
