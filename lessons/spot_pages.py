"""The pages of `veriformer learn spot`."""

from __future__ import annotations

import numpy as np
from rich.text import Text
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, heading, paragraph
from veriformer.lessons.drawing import side_by_side
from veriformer.lessons.feedback import WIDTH
from veriformer.lessons.spotting import Puzzle, Tried, puzzles
from veriformer.pictures import terminal


def puzzles_lines(width: int = WIDTH) -> Lines:
    """Return the wrong programs by their numbers."""
    rows = [Text(f"  {number:>2}  {one.operation.name}") for number, one in enumerate(puzzles(), 1)]
    closing = "To see one:  veriformer learn spot NUMBER"
    return [heading("Each of these programs is wrong"), *rows, blank(), *paragraph(closing, width)]


def puzzle_lines(puzzle: Puzzle, number: int, width: int = WIDTH) -> Lines:
    """Return a wrong program, and what to do with it."""
    name = puzzle.operation.name
    todo = f"It computes {name}, wrongly. Write an input on which its result is wrong: the smaller, the better."
    return [
        *(Text(f"    {line}", style="cyan") for line in puzzle.program.rstrip().splitlines()),
        blank(),
        *paragraph(todo, width),
        *entry("to begin", f"veriformer learn spot {number} --write input.toml", width, indent=2),
        *entry("to check it", f"veriformer learn spot {number} --answer input.toml", width, indent=2),
    ]


def judged_lines(puzzle: Puzzle, found: Tried, width: int = WIDTH) -> Lines:
    """Return what an input showed; the mistake is named where it did."""
    if not found.shows:
        lines = [Text("✗ The program is right on this input.", style="bold red")]
        return [*lines, *paragraph("Which inputs take another way through it?", width, INDENT)]
    mistake = catalogue()[puzzle.mistake.slug]
    lines = [Text("✓ The input shows the fault.", style="bold green"), *_results(puzzle, found, width)]
    size = f"{counted(found.numbers, 'number')}; the smallest known input has {found.fewest}"
    lines += entry("size", size, width)
    lines += entry("score", f"{_score(found)} of 10", width)
    return [*lines, *entry("the mistake", f"{mistake.slug}: {plain(mistake.sentence)}", width)]


def _score(found: Tried) -> int:
    """Return ten points for an input as small as the smallest known, fewer for a larger one, at least one."""
    return max(1, min(10, round(10 * found.fewest / max(found.numbers, 1))))


def _results(puzzle: Puzzle, found: Tried, width: int) -> Lines:
    if found.got is None:
        return paragraph(plain(found.sentence), width, INDENT)
    if found.got.shape != found.expected.shape:
        return entry("shapes", f"expected {found.expected.shape}, got {found.got.shape}", width)
    expected, got = found.expected.astype(float), found.got.astype(float)
    wrong = ~np.isclose(expected, got, rtol=1e-3, atol=1e-5, equal_nan=True)
    picture = side_by_side(Verdict(False, expected, got, wrong), puzzle.operation)
    lines = [] if picture is None else terminal.lines(picture, width - INDENT)
    return [Text(" " * INDENT) + line for line in lines]
