"""What changed, for a terminal."""

from __future__ import annotations

from rich.text import Text
from veriformer.conformance_tests.core.text import first_few, plain
from veriformer.conformance_tests.reports.changes.comparing import WHATS, Change, Changes, What
from veriformer.conformance_tests.reports.changes.recorded import Outcome
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, paragraph

_MARKS: dict[What, tuple[str, str]] = {
    "newly broken": ("✗", "bold red"),
    "mended": ("✓", "green"),
    "otherwise named": ("≠", "yellow"),
    "no longer tried": ("○", "yellow"),
}
_INDENT = 4


def change_lines(changes: Changes, width: int) -> Lines:
    """Return a section for each kind of change; the last line counts them."""
    lines = [line for notice in changes.notices for line in paragraph(f"Notice: {notice}", width, style="yellow")]
    lines += [blank()] if lines else []
    for what in WHATS:
        if found := changes.of(what):
            lines += [heading(what.capitalize()), *_section(found, width), blank()]
    return [*lines, *paragraph(changes.sentence, width, style="bold red" if changes.exit_status else "bold green")]


def _section(found: tuple[Change, ...], width: int) -> Lines:
    """Return a line for each change, with what it is called in a column of its own."""
    several = len({change.subject for change in found}) > 1
    names = [plain(f"{change.subject}: {change.name}" if several else change.name) for change in found]
    column = min(max(map(len, names)) + 3, width // 2)
    mark, style = _MARKS[found[0].what]
    lines: Lines = []
    for name, change in zip(names, found, strict=True):
        first, *others = entry(name, name_words(change), width, indent=_INDENT, label_width=column)
        lines += [Text(f"  {mark} ", style=style).append_text(first[_INDENT:]), *others]
    return lines


def name_words(change: Change) -> str:
    """Return what a change is called, and was called before: "scale_missing, before softcap_ignored"."""
    if change.what == "mended":
        return f"it was {named(change.old)}" if change.old.named else ""
    if change.what == "no longer tried":
        return "it was broken" if change.old.status == "broken" else ""
    if change.what == "newly broken":
        return named(change.new) if change.new.named else ""
    return f"{named(change.new)}, before {named(change.old)}"


def named(outcome: Outcome) -> str:
    """Return the names of an outcome, or that it has none."""
    return first_few([plain(name) for name in outcome.named], 4) or "nothing that is known"
