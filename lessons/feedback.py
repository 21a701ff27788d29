"""Feedback as lines of a terminal: what became of an answer, and one hint after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, paragraph
from veriformer.lessons.hints import Hints, Layer, Mistaken

if TYPE_CHECKING:
    from veriformer.lessons.outcome import Outcome, State

WIDTH = 80
MARKS: dict[State, tuple[str, str]] = {
    "done": ("✓", "green"),
    "not_begun": ("·", "dim"),
    "unclear": ("?", "bold yellow"),
    "broken": ("✗", "bold red"),
}
_MOST_ISSUES = 3


def outcome_lines(outcome: Outcome, width: int = WIDTH) -> Lines:
    """Return what became of an exercise: a line with its mark, and a sentence below it."""
    mark, style = MARKS[outcome.state]
    line = Text(f"{mark} ", style=style)
    line.append(outcome.exercise.id, style="bold").append(f"   {outcome_summary(outcome)}", style="not bold dim")
    lines = [line]
    if sentence := outcome_sentence(outcome):
        lines += paragraph(plain(sentence), width, INDENT)
    for note in outcome.notes:
        lines += paragraph(f"Note: {plain(note)}.", width, INDENT, "dim")
    return lines


def outcome_summary(outcome: Outcome) -> str:
    """Return how much holds, in a few words."""
    kind = "answer" if outcome.exercise.kind == "answers" else "law"
    if outcome.state == "done":
        return f"done, {counted(outcome.held, kind)} {_verb(outcome)}"
    if outcome.state == "broken":
        return f"{outcome.held} of {counted(outcome.tried, kind)} {'are right' if kind == 'answer' else 'hold'}"
    return {"not_begun": "not begun", "unclear": "cannot be graded"}[outcome.state]


def outcome_sentence(outcome: Outcome) -> str:
    """Return the sentence about an outcome: the first broken law, or why no law could be tried."""
    law = outcome.law
    if law is None:
        return _ended(_begun(outcome.sentence))
    return law.law.statement if law.status == "failed" else _ended(law.reason)


def hint_lines(hints: Hints, layer: Layer, width: int = WIDTH) -> Lines:
    """Return one hint."""
    return {1: _law_and_case, 2: _question, 3: _mistake}[layer](hints, width)


def _begun(sentence: str) -> str:
    """Return a sentence with a capital, unless it begins with a name such as softmax.py."""
    first = sentence.partition(" ")[0]
    return sentence if "." in first or "_" in first else f"{sentence[:1].upper()}{sentence[1:]}"


def _ended(sentence: str) -> str:
    """Return a sentence with one full stop; messages of programs may have their own."""
    return f"{sentence.rstrip('.')}." if sentence else ""


def _verb(outcome: Outcome) -> str:
    if outcome.exercise.kind == "answers":
        return "are right" if outcome.held != 1 else "is right"
    return "hold" if outcome.held != 1 else "holds"


def _law_and_case(hints: Hints, width: int) -> Lines:
    lines = paragraph(plain(outcome_sentence(hints.outcome)), width, 2, "bold")
    return [*lines, blank(), *case_lines(hints, width)]


def case_lines(hints: Hints, width: int) -> Lines:
    """Return the smallest case of a broken law: its arguments, then expected and received side by side."""
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.reports.violation import inputs, smallest_case

    found, law = hints.counterexample, hints.outcome.law
    if found is None or law is None:
        return []
    lines = [*smallest_case(found, width), *inputs(found, law.law.operation, Options(width=width))]
    if law.status == "failed":
        lines += [blank(), *_compared(hints, width)]
    return lines + _raised(hints, width)


def _compared(hints: Hints, width: int) -> Lines:
    from veriformer.lessons.drawing import side_by_side
    from veriformer.pictures import terminal

    found, law = hints.counterexample, hints.outcome.law
    if found is None or law is None:
        return []
    picture = side_by_side(found.verdict, law.law.operation)
    if picture is None:
        verdict = found.verdict
        return [*entry("expected", plain(verdict.expected), width), *entry("got", plain(verdict.actual), width)]
    margin = Text(" " * INDENT)
    return [margin + line for line in terminal.lines(picture, width - INDENT)]


def _raised(hints: Hints, width: int) -> Lines:
    """Return the line of the answer that raised, which is the last of its own in the traceback."""
    law = hints.outcome.law
    if law is None or not law.traceback:
        return []
    rows = law.traceback.strip().splitlines()
    own = [row.strip() for row in rows if hints.outcome.place and hints.outcome.place in row]
    return entry("where", plain(own[-1]), width) if own else []


def _question(hints: Hints, width: int) -> Lines:
    lines = paragraph(hints.question, width, 2, "bold")
    if hints.several:
        lines += [blank(), *paragraph("The answer makes two mistakes; this is about one of them.", width, 2)]
    return lines


def _mistake(hints: Hints, width: int) -> Lines:
    lines = [line for one in hints.mistakes for line in _about(one, width)]
    if not hints.mistakes:
        lines = paragraph("No known mistake gives what the answer returns.", width, 2)
    law = hints.outcome.law
    if law is not None:
        lines += entry("why it holds", f"veriformer explain {law.law.id}", width, indent=2)
    if hints.derivation and hints.steps:
        lines += entry("derivation", f"{hints.derivation}: {'; '.join(hints.steps)}", width, indent=2)
    return lines


def _about(mistake: Mistaken, width: int) -> Lines:
    lines = [Text(f"  {mistake.slug}", style="bold"), *paragraph(plain(mistake.sentence), width, INDENT)]
    met = first_few(mistake.met_in, _MOST_ISSUES) if mistake.met_in else ""
    facts = (("effect", mistake.effect), ("hidden when", mistake.hidden_when), ("met in", met))
    return [
        *lines,
        *(row for label, text in facts if text for row in entry(label, plain(text), width, indent=2)),
        blank(),
    ]
