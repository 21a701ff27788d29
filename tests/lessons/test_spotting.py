"""Wrong programs that are shown, and inputs that show their fault."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from veriformer.lessons.excerpts import excerpt
from veriformer.lessons.spot_pages import judged_lines, puzzle_lines
from veriformer.lessons.spotting import Puzzle, UnusableInput, judged, puzzles, tried

AXIS = next(one for one in puzzles() if one.mistake.slug == "softmax_wrong_axis")


def answer(folder: Path, text: str) -> Path:
    path = folder / "input.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("puzzle", puzzles(), ids=lambda one: one.mistake.slug)
def test_the_smallest_known_input_shows_the_fault(puzzle: Puzzle) -> None:
    found = tried(puzzle, puzzle.smallest)
    assert found.shows
    assert found.numbers == found.fewest


@pytest.mark.parametrize("puzzle", puzzles(), ids=lambda one: one.mistake.slug)
def test_a_program_is_shown_without_its_name(puzzle: Puzzle) -> None:
    text = "\n".join(line.plain for line in puzzle_lines(puzzle, 1))
    assert f"def {puzzle.operation.name}" in text
    assert puzzle.mistake.slug not in text
    assert "A correct" not in text
    tomllib.loads(puzzle.template)


def test_an_input_is_judged_by_its_size(tmp_path: Path) -> None:
    large = judged(AXIS, answer(tmp_path, "x = [[1, 2, 3], [4, 5, 7]]"))
    assert large.shows
    assert large.numbers == 6
    text = " ".join(line.plain for line in judged_lines(AXIS, large))
    assert "softmax_wrong_axis" in text
    assert f"the smallest known input has {large.fewest}" in text


def test_an_input_on_which_the_program_is_right_names_nothing(tmp_path: Path) -> None:
    same = judged(AXIS, answer(tmp_path, "x = [[1, 1], [1, 1]]"))
    assert not same.shows
    assert "softmax_wrong_axis" not in " ".join(line.plain for line in judged_lines(AXIS, same))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no x"),
        ("x = [[1, 2], [3]]", "no array"),
        ("x = ['a']", "no array"),
        ("y = [1]", "no argument 'y'"),
        ("x = [", "not TOML"),
        (f"x = [{'1, ' * 20_000}1]", "more than"),
        ("x = []", "a right program does not take"),
    ],
)
def test_an_input_that_cannot_be_tried_gets_a_sentence(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UnusableInput, match=reason):
        judged(AXIS, answer(tmp_path, text))


def test_an_excerpt_has_what_a_function_needs_and_no_more() -> None:
    functions = "def f(x):\n    return N * math.pi\n\ndef g(x):\n    return os\n\ndef h(x):\n    return f(x)\n"
    text = f"import math\nimport os\nN = 2\nM = 3\n\n{functions}"
    shown = excerpt(text, "h")
    assert "import math" in shown
    assert "import os" not in shown
    assert "N = 2" in shown
    assert "M = 3" not in shown
    assert "def g" not in shown
    assert shown.index("def f") < shown.index("def h")
