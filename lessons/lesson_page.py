"""A lesson as lines of a terminal: its text, what its blocks print and draw, one step of its derivations."""

from __future__ import annotations

from rich.text import Text
from veriformer.conformance_tests.reports.layout import Lines, blank, paragraph
from veriformer.lessons.course import Lesson
from veriformer.lessons.feedback import WIDTH
from veriformer.lessons.formulas_in_text import as_code
from veriformer.lessons.running import Shown, run
from veriformer.pictures import terminal


class NoSuchStep(ValueError):
    """The derivations of a lesson have fewer steps; the message says how many."""


def lesson_lines(lesson: Lesson, width: int = WIDTH) -> Lines:
    """Return a lesson as it is read, block by block."""
    return [line for shown in run(lesson) for line in _shown(shown, width)]


def step_lines(lesson: Lesson, number: int, width: int = WIDTH) -> Lines:
    """Return one step of the lesson's derivations, counted from 1 through all of them; NoSuchStep."""
    from veriformer.spec.derivations import load_derivation
    from veriformer.spec.derivations.rendering import step_text

    steps = [(name, step) for name in lesson.derivations for step in load_derivation(name).steps]
    if not 1 <= number <= len(steps):
        raise NoSuchStep(f"the derivations of {lesson.id} have {len(steps)} steps; there is no step {number}")
    name, step = steps[number - 1]
    head = Text(f"{name}, step {number} of {len(steps)}   ", style="dim").append(step.name, style="bold not dim")
    given = [f"given {'; '.join(step.hypotheses)}"] if step.hypotheses else []
    return [
        head,
        *(Text(f"  {line}") for line in step_text(step, width - 2).splitlines()),
        *(row for text in (*given, step.why) for row in paragraph(text, width, 2)),
    ]


def _shown(shown: Shown, width: int) -> Lines:
    part = shown.part
    if not part.info:
        return [*_markdown(part.text, width), blank()]
    lines = [Text(f"    {line}", style="cyan" if part.runs else "") for line in part.text.rstrip().splitlines()]
    lines += [blank()]
    lines += [Text(f"  {line}", style="dim") for line in shown.printed.splitlines()]
    if shown.picture is not None:
        lines += [Text("  ") + line for line in terminal.lines(shown.picture, width - 2)]
    return [*lines, *([blank()] if shown.printed or shown.picture else [])]


def _markdown(text: str, width: int) -> Lines:
    """Return Markdown as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=width, color_system=None, force_terminal=False)
    return [Text("".join(part.text for part in row).rstrip()) for row in console.render_lines(Markdown(as_code(text)))]
