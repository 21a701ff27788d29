"""Written answers are compared exactly, and read without running them."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.lessons.answers import check_answer_file, check_answers
from veriformer.lessons.asked import sheet
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import exercises
from veriformer.lessons.formulas import UnreadableFormula, formulas, same_value
from veriformer.lessons.shown import causal_training, picture_of

SHEETS = [exercise for exercise in exercises().values() if exercise.kind == "answers"]
PRODUCTS, SHAPES = exercises()["practice_products"], exercises()["practice_shapes"]


def right(exercise: Exercise) -> dict[str, object]:
    return {question.id: question.answer for question in sheet(exercise.id).questions}


@pytest.mark.parametrize("exercise", SHEETS, ids=lambda one: one.id)
def test_right_answers_are_right(exercise: Exercise) -> None:
    assert check_answers(right(exercise), exercise).done


@pytest.mark.parametrize("exercise", SHEETS, ids=lambda one: one.id)
def test_each_wrong_answer_is_wrong(exercise: Exercise) -> None:
    for question in sheet(exercise.id).questions:
        for wrong in [*question.lettered, "z"] if question.kind == "choice" else ["7919", "1, 2, 3, 4"]:
            outcome = check_answers(right(exercise) | {question.id: wrong}, exercise)
            assert outcome.done == (wrong == question.answer)


@pytest.mark.parametrize(
    "written",
    ["exp(2)/(exp(2)+exp(6)+exp(-2))", "e^2 / (e^2 + e^6 + e^−2)", "1/(1 + exp(4) + exp(-4))"],
)
def test_a_formula_may_be_written_in_many_ways(written: str) -> None:
    assert check_answers(right(PRODUCTS) | {"a_11": written}, PRODUCTS).done


@pytest.mark.parametrize("written", ["1024 × 64", "(1024, 64)", "[1024, 64]", "1024x64"])
def test_a_shape_may_be_written_in_many_ways(written: str) -> None:
    assert check_answers(right(SHAPES) | {"w_q": written}, SHAPES).done


def test_a_rounded_number_is_called_rounded() -> None:
    outcome = check_answers(right(PRODUCTS) | {"a_2": "0.333, 0.333, 0.333"}, PRODUCTS)
    assert not outcome.done
    assert "rounded" in outcome.sentence


def test_the_first_wrong_answer_is_named_and_no_right_one_shown() -> None:
    outcome = check_answers(right(SHAPES) | {"d_k": "63", "w_q": ""}, SHAPES)
    assert outcome.sentence.startswith("d_k: ")
    assert "64" not in outcome.sentence
    assert (outcome.held, outcome.tried) == (2, 4)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "9**9**9**9", "(lambda: 1)()", "x.y", "[1][0]", "'a'", "1 +", "", "1/0", "n" * 500, "True"],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(UnreadableFormula):
        formulas(text)


def test_formulas_with_symbols_agree_whatever_they_stand_for() -> None:
    (first,), (second,) = (formulas(text, ("i", "L")) for text in ("(L - 1 - i)/L", "1 - (i + 1)/L"))
    assert same_value(first, second)
    assert not same_value(first, formulas("(L - i)/L", ("i", "L"))[0])


@pytest.mark.parametrize(
    ("text", "state", "word"),
    [
        ("", "not_begun", "nothing has been answered"),
        ('d_k = ""', "not_begun", "nothing has been answered"),
        ("d_k = 64\n", "broken", "w_q"),
        ("d_k is 64", "unclear", "cannot be read"),
        ('dk = "64"', "not_begun", "nothing"),
        ("d_k = true", "broken", "text in quotes"),
    ],
)
def test_a_file_that_is_not_clear_gets_a_sentence(tmp_path: Path, text: str, state: str, word: str) -> None:
    path = tmp_path / SHAPES.file_name
    path.write_text(text)
    outcome = check_answer_file(path, SHAPES)
    assert outcome.state == state
    assert word in outcome.sentence


def test_answers_that_are_no_mapping_get_a_sentence() -> None:
    assert check_answers([1], SHAPES).state == "unclear"


def test_what_training_without_the_mask_loses_is_shown() -> None:
    trained, used, lost = causal_training().pictures
    assert [cell.text for cell in trained.cells[0]] == ["1/4"] * 4
    assert [cell.text for cell in used.cells[1]] == ["1/2", "1/2", "0", "0"]
    assert [cell.text for cell in lost.cells[0]] == ["0", "1/4", "1/4", "1/4"]
    assert picture_of(SHAPES) is None
