"""Answers are graded, and what is not clear gets a sentence rather than a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from veriformer.lessons import check_exercise, grade
from veriformer.lessons.checking import check_file
from veriformer.lessons.exercises import UnknownExercise, exercises
from veriformer.lessons.feedback import hint_lines
from veriformer.lessons.hints import hints_of, with_readable_case
from veriformer.lessons.outcome import Outcome

SOFTMAX = exercises()["softmax"]
HEAD = "import numpy as np\n\n\ndef softmax(x):\n"
RIGHT = HEAD + "    e = np.exp(x - x.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)\n"
WRONG_AXIS = HEAD + "    e = np.exp(x - x.max())\n    return e / e.sum(-2, keepdims=True)\n"


def checked(folder: Path, text: str, seconds: float = 5.0) -> Outcome:
    path = folder / SOFTMAX.file_name
    path.write_text(text)
    return check_exercise(path, SOFTMAX, time_limit=seconds)


def softmax(x: np.ndarray) -> np.ndarray:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def unscaled(x: np.ndarray) -> np.ndarray:
    return np.exp(x - x.max(-1, keepdims=True))


def test_a_right_answer_is_done(tmp_path: Path) -> None:
    outcome = checked(tmp_path, RIGHT)
    assert outcome.done
    assert outcome.held == outcome.tried == len([law for law in SOFTMAX.laws if law.startswith("softmax.")])


@pytest.mark.parametrize(
    ("text", "state", "sentence"),
    [
        ("", "unclear", "empty"),
        ("   \n", "unclear", "empty"),
        ("def softmax(x:\n", "unclear", "no Python"),
        ("def sofmax(x):\n    return x\n", "unclear", "is it 'sofmax'?"),
        ("x = 1\n", "unclear", "has no function softmax"),
        (HEAD + '    """Not yet."""\n    raise NotImplementedError\n', "not_begun", "nothing has been written"),
        ("import no_such_package\n\n\ndef softmax(x):\n    return x\n", "unclear", "no_such_package"),
    ],
)
def test_what_cannot_run_gets_a_sentence(tmp_path: Path, text: str, state: str, sentence: str) -> None:
    outcome = checked(tmp_path, text)
    assert outcome.state == state
    assert sentence in outcome.sentence
    assert "Traceback" not in str(outcome)


def test_the_name_of_a_file_keeps_its_small_letter(tmp_path: Path) -> None:
    assert "softmax.py is empty" in str(checked(tmp_path, ""))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("    pass\n", "returned None"),
        ("    return [1.0]\n", "returned a list"),
        ("    return x.astype(np.float16)\n", "dtype"),
        ("    raise ValueError('no')\n", "raised ValueError"),
        ("    if x.shape[-1] > 1:\n        raise NotImplementedError\n    return x / x\n", "still raises"),
        ("    x -= x.max(-1, keepdims=True)\n    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)\n", "unchanged"),
    ],
)
def test_what_is_returned_wrongly_gets_a_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    outcome = checked(tmp_path, HEAD + body)
    assert not outcome.done
    text = " ".join(str(outcome).split())
    assert sentence in text or sentence in (outcome.law.law.id if outcome.law else "")
    assert "Traceback" not in text


def test_a_loop_without_end_is_ended(tmp_path: Path) -> None:
    outcome = checked(tmp_path, HEAD + "    while True:\n        pass\n", 0.5)
    assert "did not return within 0.5 s" in str(outcome)


def test_an_answer_that_prints_is_graded_and_its_output_is_told(tmp_path: Path) -> None:
    outcome = checked(tmp_path, RIGHT.replace("    e =", "    print('hello')\n    e =", 1))
    assert outcome.done
    assert "hello" in str(outcome)


def test_a_missing_file_is_not_begun(tmp_path: Path) -> None:
    assert check_file(tmp_path / "softmax.py", SOFTMAX).state == "not_begun"


def test_a_missing_keyword_is_named() -> None:
    outcome = check_exercise(lambda query, key, value: value, "scaled_dot_product_attention")
    assert outcome.state == "unclear"
    assert "no keyword mask" in outcome.sentence


def test_the_weakest_broken_law_and_the_question_of_the_mistake(tmp_path: Path) -> None:
    outcome = checked(tmp_path, WRONG_AXIS)
    assert outcome.law is not None
    assert outcome.law.law.id == "softmax.rows_sum_to_one"
    assert "softmax_wrong_axis" in outcome.mistakes
    hints = with_readable_case(outcome, tmp_path / SOFTMAX.file_name)
    case, question, mistake = ("\n".join(line.plain for line in hint_lines(hints, layer)) for layer in (1, 2, 3))
    assert "1/2" in case
    assert question.strip() == "Along which axis do your weights sum to one, and along which should they?"
    assert "softmax_wrong_axis" in mistake
    assert "-1" not in mistake


def test_an_unknown_mistake_is_graded_wrong_with_the_question_of_its_law() -> None:
    outcome = check_exercise(lambda x: softmax(x) ** 1.5, "softmax")
    assert outcome.state == "broken"
    assert hints_of(outcome).question.endswith("?")


def test_a_function_a_class_and_a_name_in_a_cell() -> None:
    class Mine:
        softmax = staticmethod(softmax)

    assert check_exercise(softmax, "softmax").done
    assert check_exercise(Mine, "softmax").done
    assert grade(softmax, "softmax").done
    with pytest.raises(UnknownExercise):
        check_exercise(softmax, "sofmax")


def test_a_cell_fails_with_the_feedback() -> None:
    with pytest.raises(AssertionError) as error:
        grade(unscaled, "softmax")
    assert "The weights of each row sum to one." in str(error.value)
    assert "expected" in str(error.value)


def test_a_notebook_shows_the_outcome_and_escapes_what_is_not_ours() -> None:
    def hostile(x: np.ndarray) -> np.ndarray:
        raise ValueError("<script>alert(1)</script>")

    html = check_exercise(hostile, "softmax")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    drawn = check_exercise(unscaled, "softmax")._repr_html_()
    assert "vf-grid" in drawn
    assert "&lt;table" not in drawn


def test_the_third_hint_says_what_a_choice_is_that_nobody_reported() -> None:
    def rotary_embedding(x: np.ndarray, positions: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
        half = x.shape[-1] // 2
        angles = np.asarray(positions)[..., None] * base ** (-np.arange(half) / x.shape[-1])
        angles = angles[:, None] if angles.ndim == 3 else angles
        cos, sin = np.cos(angles), np.sin(angles)
        first, second = x[..., ::2], x[..., 1::2]
        turned = np.empty_like(x)
        turned[..., ::2], turned[..., 1::2] = first * cos - second * sin, first * sin + second * cos
        return turned

    outcome = check_exercise(rotary_embedding, "rotary_embedding")
    assert outcome.mistakes == ("frequencies=exponent_halved",)
    assert hints_of(outcome).mistakes[0].sentence == "the exponent is k/d instead of 2k/d"
