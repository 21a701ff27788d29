"""The page of `veriformer learn hint`, and how `veriformer learn check` ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from veriformer.conformance_tests.core.text import counted, first_few
from veriformer.conformance_tests.reports.layout import Lines, blank, paragraph
from veriformer.lessons.feedback import WIDTH, hint_lines, outcome_lines
from veriformer.lessons.hints import LAYERS, Layer, hints_of, with_readable_case
from veriformer.lessons.outcome import Outcome

_MOST_NAMED = 6


def next_hint_lines(outcome: Outcome, path: Path, layer: Layer, width: int = WIDTH) -> Lines:
    """Return the next hint about an outcome; what became of it where no law is broken."""
    if outcome.law is None:
        return [*outcome_lines(outcome, width), *_about_answers(outcome, width)]
    hints = with_readable_case(outcome, path) if layer == 1 else hints_of(outcome)
    line = Text(f"{outcome.exercise.id}", style="bold").append(
        f"   hint {layer} of {len(LAYERS)}", style="not bold dim"
    )
    more = f"The next one:  veriformer learn hint {outcome.exercise.id} {path.parent}" if layer < len(LAYERS) else ""
    return [line, blank(), *hint_lines(hints, layer, width), *([blank(), *paragraph(more, width)] if more else [])]


def closing_lines(outcomes: Sequence[Outcome], folder: Path, width: int = WIDTH) -> Lines:
    """Return how many exercises are done, which are not begun, and where to go on."""
    done = sum(outcome.done for outcome in outcomes)
    waiting = [outcome.exercise.id for outcome in outcomes if outcome.state == "not_begun"]
    lines = [blank(), *paragraph(f"{done} of {counted(len(outcomes), 'exercise')} done.", width)]
    if waiting and len(outcomes) > len(waiting):
        lines += paragraph(f"Not begun: {first_few(waiting, _MOST_NAMED)}.", width)
    elif len(waiting) > 1:
        lines += paragraph("Nothing has been begun yet.", width)
    broken = next((outcome for outcome in outcomes if outcome.state == "broken"), None)
    if broken is not None:
        lines += paragraph(f"A hint:  veriformer learn hint {broken.exercise.id} {folder}", width)
    return lines


def _about_answers(outcome: Outcome, width: int) -> Lines:
    """Return the picture that belongs to questions once they are answered, and nothing before."""
    if outcome.exercise.kind != "answers" or not outcome.done:
        return []
    from veriformer.lessons.shown import picture_of
    from veriformer.pictures import terminal

    picture = picture_of(outcome.exercise)
    return [] if picture is None else [blank(), *terminal.lines(picture, width)]
