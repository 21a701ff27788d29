"""Lessons are read as their README says, run block by block, and become notebooks."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from veriformer.lessons.course import Part, UnknownLesson, UnusableLesson, course, lesson_called, read_lesson
from veriformer.lessons.exercises import exercises
from veriformer.lessons.notebooks import notebook
from veriformer.lessons.running import run
from veriformer.pictures.model import Grid

FRONT = """<!--
id = "cost"
title = "Cost"
exercises = ["practice_cost"]
derivations = ["cost"]
mistakes = ["scale_missing"]
-->
"""
BODY = """# Cost

Some text.

```python
a = 2
print(a + 1)
```

```text
not run
```

```python breaks
from veriformer.pictures.model import Cell, Grid
assert a == 2
Grid("t", ((Cell("1"),),))
```
"""


def test_the_blocks_run_in_order_in_one_namespace() -> None:
    lesson = read_lesson(FRONT + BODY, "01_cost.md")
    shown = list(run(lesson))
    assert [one.part.info for one in shown] == ["", "python", "text", "python breaks"]
    assert shown[1].printed == "3\n"
    assert shown[2].printed == ""
    assert isinstance(shown[3].picture, Grid)


def test_a_block_that_raises_is_named() -> None:
    blocks = "```python\na = 1\n```\n\n```text\nb\n```\n\n```python\n\nassert a == 2, 'no'\n```\n"
    lesson = read_lesson(FRONT + blocks, "01_cost.md")
    with pytest.raises(UnusableLesson, match=r"cost: block 2, line 2 raises AssertionError: no\n    assert a == 2"):
        list(run(lesson))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Cost\n", "front matter"),
        ("<!--\nid = \n-->\n", "not TOML"),
        (FRONT.replace("id = ", "name = "), "has no id"),
        (FRONT.replace('"cost"\ntitle', '"costs"\ntitle'), "no lesson"),
        (FRONT.replace("practice_cost", "softmax"), "its exercises are"),
        (FRONT.replace('["cost"]', '["costs"]'), "none of the derivations"),
        (FRONT.replace("scale_missing", "scale_mising"), "none of the mistakes"),
    ],
)
def test_a_lesson_that_is_not_as_it_should_be_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnusableLesson, match=reason):
        read_lesson(text, "01_cost.md")


def test_a_notebook_has_every_part_and_runs_the_same_code() -> None:
    lesson = read_lesson(FRONT + BODY, "01_cost.md")
    cells = json.loads(notebook(lesson))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code[1:] == [part.text.rstrip("\n") for part in lesson.parts if part.runs]
    assert "show_pictures" in code[0]
    assert any("```text\nnot run\n```" in "".join(cell["source"]) for cell in cells)


def test_the_examples_of_the_readme_run() -> None:
    text = resources.files("veriformer.lessons").joinpath("course", "README.md").read_text(encoding="utf-8")
    lesson = read_lesson(FRONT + text.partition("## Blocks that run")[2], "01_cost.md")
    pictures = [shown.picture for shown in run(lesson) if shown.picture]
    assert len(pictures) == 1


def test_a_lesson_that_does_not_exist_is_told_from_one_that_is_not_written() -> None:
    with pytest.raises(UnknownLesson, match="did you mean 'masks'"):
        lesson_called("maskes")


def test_the_lessons_that_are_there_belong_to_the_course() -> None:
    for lesson in course().values():
        assert {exercises()[name].lesson for name in lesson.exercises} <= {lesson.id}
        assert lesson.parts[0] != Part("")
