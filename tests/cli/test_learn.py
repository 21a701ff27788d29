"""`veriformer learn`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from veriformer.cli.application import application
from veriformer.cli.failures import UserError

WRONG_AXIS = (
    "import numpy as np\n\n\ndef softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum(-2, keepdims=True)\n"
)


def learn(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        application, ["learn", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )


def refused(*arguments: str | Path) -> str:
    with pytest.raises(UserError) as error:
        learn(*arguments)
    return error.value.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    learn("new", tmp_path / "mine")
    return tmp_path / "mine"


def test_the_folder_and_the_exercise_are_taken_in_both_orders(folder: Path) -> None:
    (folder / "softmax.py").write_text(WRONG_AXIS)
    for checked in (learn("check", folder, "softmax"), learn("check", "softmax", folder)):
        assert "The weights of each row sum to one." in checked.output
    assert "hint 1 of 3" in learn("hint", folder, "softmax").output
    assert "hint 2 of 3" in learn("hint", "softmax", folder).output


def test_a_check_does_not_name_the_mistake(folder: Path) -> None:
    (folder / "softmax.py").write_text(
        "import numpy as np\n\n\ndef softmax(x):\n    e = np.exp(x - x.max(axis=0))\n    return e / e.sum(axis=0)\n"
    )
    checked = learn("check", folder, "softmax")
    assert checked.return_value == 1
    assert "axis 0" not in checked.output


def test_a_lesson_is_shown_by_its_number() -> None:
    assert learn("lesson", "2", "--step", "1").output == learn("lesson", "softmax", "--step", "1").output
    assert "numbered from 1 to" in refused("lesson", "99")


def test_a_question_for_a_row_says_how_a_row_is_written(folder: Path) -> None:
    sheet = folder / "practice_products.toml"
    assert '# A row of numbers has commas between them: "5, -1/2, 0".' in sheet.read_text()
    answered = sheet.read_text().replace('s_1 = ""', 's_1 = "2, 6, -2"').replace('s_2 = ""', 's_2 = "0, 0, 0"')
    sheet.write_text(answered.replace('s_3 = ""', 's_3 = "1 3 -1"'))
    said = " ".join(learn("check", folder, "practice_products").output.split())
    assert 'the question asks for a row, with commas: "5, -1/2, 0"' in said


def test_a_course_is_begun_and_nothing_in_it_is_overwritten(folder: Path) -> None:
    (folder / "softmax.py").write_text("mine")
    result = learn("new", folder, "--framework", "torch")
    assert "0 exercises written" in result.output
    assert (folder / "softmax.py").read_text() == "mine"
    assert "practice_products" in learn("--dir", folder).output


def test_answers_are_checked_hints_come_one_by_one_and_progress_is_kept(folder: Path) -> None:
    (folder / "softmax.py").write_text(WRONG_AXIS)
    checked = learn("check", folder, "softmax")
    assert checked.return_value == 1
    assert "The weights of each row sum to one." in checked.output
    first, second, third = (learn("hint", "softmax", folder).output for _ in range(3))
    assert "1/2" in first
    assert "softmax_wrong_axis" not in first + second
    assert second.strip().splitlines()[2].endswith("?")
    assert "softmax_wrong_axis" in third
    assert "hint 1 of 3" in learn("hint", "softmax.py", folder, "--again").output


def test_what_is_done_is_shown_as_done(folder: Path) -> None:
    answers = 'd_k = "64"\nw_q = "1024, 64"\nw_v = "1024, 64"\nscores = "128, 128"\n'
    (folder / "practice_shapes.toml").write_text(answers)
    assert learn("check", folder, "practice_shapes").return_value == 0
    assert "✓ practice_shapes" in learn("--dir", folder).output
    assert learn("hint", "practice_shapes", folder).return_value == 0


def test_a_course_that_is_not_done_is_status_one(folder: Path) -> None:
    assert learn("check", folder).return_value == 1
    answers = 'd_k = "64"\nw_q = "1024, 64"\nw_v = "1024, 64"\nscores = "128, 128"\n'
    (folder / "practice_shapes.toml").write_text(answers)
    assert learn("check", folder).return_value == 1


def test_what_to_begin_with_is_what_comes_next(tmp_path: Path) -> None:
    output = learn("new", tmp_path / "mine").output
    following = next(line for line in learn("--dir", tmp_path / "mine").output.splitlines() if "→" in line)
    name = following.split()[1]
    assert f"Begin with {tmp_path / 'mine' / name}." in output
    assert output.rstrip().endswith(f"veriformer learn check {tmp_path / 'mine'} {name}")


def test_the_command_in_an_exercise_is_right_where_the_course_was_written(folder: Path) -> None:
    for name, id_ in (("softmax.py", "softmax"), ("practice_shapes.toml", "practice_shapes")):
        (line,) = [one for one in (folder / name).read_text().splitlines() if "veriformer learn check" in one]
        words = line.partition("veriformer learn ")[2].partition("   (")[0].split()
        assert words == ["check", str(folder), id_]
        assert learn(*words).return_value == 1


def test_a_folder_of_folders_has_a_student_in_each(tmp_path: Path) -> None:
    rubric, grades, junit = (tmp_path / name for name in ("rubric.toml", "grades.json", "grades.xml"))
    rubric.write_text("[exercises.practice_shapes]\npoints = 4\n")
    answers = 'd_k = "64"\nw_q = "1024, 64"\nw_v = "1024, 64"\nscores = "128, 128"\n'
    for student, text in (("ada", answers), ("bob", answers.replace("128", "64"))):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "practice_shapes.toml").write_text(text)
    (tmp_path / "class" / "notes").mkdir()
    result = learn("grade", tmp_path / "class", "--rubric", rubric, "--json", grades, "--junit", junit)
    assert result.return_value == 1
    assert result.output.rstrip().endswith("ada   4 of 4 points\nbob   0 of 4 points")
    written = json.loads(grades.read_text())
    assert [(one["folder"], one["points"], one["of"]) for one in written["students"]] == [("ada", 4, 4), ("bob", 0, 4)]
    assert junit.read_text().count("<testsuite ") == 2


def test_what_does_not_exist_gets_a_sentence(folder: Path, tmp_path: Path) -> None:
    assert "veriformer learn new" in refused("check", tmp_path / "none")
    assert "did you mean 'softmax'" in refused("hint", "sofmax", folder)
    assert "name the folder" in refused("grade")
    assert "no folder" in refused("grade", tmp_path / "none")
    assert "cannot be read" in refused("grade", folder, "--rubric", tmp_path / "none.toml")
    assert "give neither" in refused("grade", folder, "--cs336", tmp_path / "adapters.py")
    assert "numbered from 1" in refused("spot", "999")
    assert "no lesson" in refused("lesson", "nothing_like_it")


def test_a_folder_is_graded_by_a_rubric(folder: Path, tmp_path: Path) -> None:
    rubric, grades, junit = (tmp_path / name for name in ("rubric.toml", "grades.json", "grades.xml"))
    rubric.write_text("[exercises.practice_shapes]\npoints = 4\n")
    result = learn("grade", folder, "--rubric", rubric, "--json", grades, "--junit", junit)
    assert result.return_value == 1
    assert "0 of 4 points" in result.output
    assert json.loads(grades.read_text())["exercises"][0]["state"] == "not_begun"
    assert "<testsuite" in junit.read_text()


def test_a_wrong_program_is_shown_and_an_input_judged(tmp_path: Path) -> None:
    assert "def softmax" in learn("spot", "1").output
    path = tmp_path / "input.toml"
    assert learn("spot", "1", "--write", path).return_value == 0
    assert "already" in refused("spot", "1", "--write", path)
    path.write_text("x = [[1, 2], [3, 5]]")
    assert learn("spot", "1", "--answer", path).return_value == 0
    path.write_text("x = [[1, 1], [1, 1]]")
    assert learn("spot", "1", "--answer", path).return_value == 1


def test_the_lessons_are_written_as_notebooks(tmp_path: Path) -> None:
    output = learn("notebooks", tmp_path / "books").output
    assert "14 notebooks written" in output
    assert (tmp_path / "books" / "01_dot_products.ipynb").is_file()
    (tmp_path / "file").write_text("")
    assert "cannot write" in refused("notebooks", tmp_path / "file")
