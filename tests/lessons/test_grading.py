"""Rubrics, points by groups of laws, and what is written for programs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from veriformer.lessons.cs336 import FUNCTIONS, NoAdapters, bridge
from veriformer.lessons.exercises import exercises
from veriformer.lessons.grade_reports import grades_json, grades_junit, totals
from veriformer.lessons.grading import Grade, graded, limits_of, pattern_of
from veriformer.lessons.rubric import UnusableRubric, read_rubric, usual_rubric

ADAPTERS = Path(__file__).with_name("adapters_stand_in.py")
WRONG_AXIS = """import numpy as np


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum(-2, keepdims=True)
"""
BY_LAWS = """
seeds = [3, 14]
time_limit = 2
memory_limit = 1.5

[exercises.softmax]
points = 10

[exercises.softmax.laws]
"shape" = 2
"rows_sum_to_one" = 3
"*" = 5

[exercises.practice_shapes]
points = 4
"""


def grades(folder: Path, rubric: str) -> list[Grade]:
    (folder / "rubric.toml").write_text(rubric)
    return list(graded(folder, read_rubric(folder / "rubric.toml")))


def test_points_are_given_by_groups_of_laws(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text(WRONG_AXIS)
    softmax, shapes = grades(tmp_path, BY_LAWS)
    assert [(group.pattern, group.holds) for group in softmax.groups] == [
        ("shape", True),
        ("rows_sum_to_one", False),
        ("*", False),
    ]
    assert (softmax.points, softmax.seed, shapes.points) == (2, 3, 0)
    assert shapes.outcome.state == "not_begun"
    assert totals([softmax, shapes]) == (2, 14)


def test_grades_are_written_for_programs(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text(WRONG_AXIS)
    found = grades(tmp_path, BY_LAWS)
    record = grades_json(found, "here")
    assert (record["points"], record["of"]) == (2, 14)
    assert record["exercises"][0]["law"] == "softmax.rows_sum_to_one"
    suite = ElementTree.fromstring(grades_junit(found))
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    assert [case.get("name") for case in suite][-1] == "practice_shapes"


def test_an_answer_that_cannot_run_gets_no_points_of_any_group(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text("def softmax(x):\n    raise NotImplementedError\n")
    assert grades(tmp_path, BY_LAWS)[0].points == 0


def test_limits_and_seeds_are_those_of_the_rubric(tmp_path: Path) -> None:
    path = tmp_path / "rubric.toml"
    path.write_text(BY_LAWS)
    rubric = read_rubric(path)
    assert rubric.seeds == (3, 14)
    assert (limits_of(rubric).seconds, limits_of(rubric).memory) == (2.0, int(1.5 * 2**30))


def test_without_a_rubric_every_exercise_has_a_point() -> None:
    assert {one.exercise.id for one in usual_rubric().exercises} == set(exercises())


def test_the_first_pattern_that_fits_counts() -> None:
    assert pattern_of("attention.mask.value", ("mask.*", "*")) == "mask.*"
    assert pattern_of("attention.mask.value", ("attention.*", "mask.*")) == "attention.*"
    assert pattern_of("attention.scale", ("mask.*",)) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "grades no exercise"),
        ("points = 3", "'points'"),
        ("[exercises.sofmax]\npoints = 1", "did you mean 'softmax'"),
        ("[exercises.softmax]\npoints = -1", "above 0"),
        ("[exercises.softmax]\npoints = true", "above 0"),
        ("[exercises.softmax]\npoint = 1", "'point'"),
        ("[exercises]\nsoftmax = 1", "no table"),
        ("seeds = 3\n[exercises.softmax]", "whole numbers"),
        ("seeds = [true]\n[exercises.softmax]", "whole numbers"),
        ("[exercises.softmax]\npoints = 3\n[exercises.softmax.laws]\n'*' = 2", "2 points"),
        ("[exercises.softmax.laws]\n'causal.*' = 2", "leave it out"),
        ("[exercises.softmax.laws]\n'*' = 2\n'shape' = 1", "leave it out"),
        ("time_limit = nan\n[exercises.softmax]", "above 0"),
        ("[exercises", "not TOML"),
    ],
)
def test_a_rubric_that_contradicts_itself_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "rubric.toml"
    path.write_text(text)
    with pytest.raises(UnusableRubric, match=reason.replace("*", r"\*")):
        read_rubric(path)


def test_a_rubric_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableRubric, match="cannot be read"):
        read_rubric(tmp_path / "none.toml")


def test_every_function_of_the_other_course_has_an_exercise() -> None:
    assert set(FUNCTIONS.values()) <= set(exercises())


def test_adapters_of_the_other_course_are_graded_by_their_functions(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "tests"
    folder.mkdir()
    source = ADAPTERS.read_text().partition("def run_multihead_self_attention")[0]
    (folder / "adapters.py").write_text(f"{source}\n\ndef run_silu(in_features):\n    raise NotImplementedError\n")
    with bridge(folder / "adapters.py") as (path, rubric):
        chosen = [one for one in rubric.exercises if one.exercise.id != "scaled_dot_product_attention"]
        assert len(chosen) == 2
        found = list(graded(path.parent, rubric.__class__(tuple(chosen)), lambda _: path, "tests/adapters.py"))
    by_name = {one.graded.exercise.id: one for one in found}
    assert by_name["softmax"].outcome.mistakes == ("softmax_no_max_subtraction",)
    assert by_name["silu"].outcome.state == "not_begun"
    assert by_name["silu"].outcome.sentence == "a part of tests/adapters.py still raises NotImplementedError"
    assert by_name["softmax"].outcome.place == "tests/adapters.py"


@pytest.mark.parametrize("text", ["", "def f(:\n", "def helper():\n    return 1\n"])
def test_a_file_that_has_no_adapters_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "adapters.py"
    path.write_text(text)
    with pytest.raises(NoAdapters), bridge(path):
        pass
