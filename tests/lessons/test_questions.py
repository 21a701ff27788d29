"""One question for each mistake that an exercise can have, and none that contains the answer."""

from __future__ import annotations

import keyword
import re

from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.lessons.exercises import exercises
from veriformer.lessons.questions import question_about, question_by_law, questions

OPERATIONS = {exercise.operation for exercise in exercises().values()}
POSSIBLE = [one for one in planted() if OPERATIONS.intersection(one.operations)]
WORD = re.compile(r"[A-Za-z_]\w+|\d[\w.]*")


def corrections(mistake: PlantedMistake) -> set[str]:
    """Return the words of code that put the mistake right: those of the right lines that the wrong ones lack."""
    right, wrong = (
        {word for line in mistake.changed_lines() if line.startswith(mark) for word in WORD.findall(line[2:])}
        for mark in "-+"
    )
    return right - wrong - set(keyword.kwlist)


def test_every_mistake_that_an_exercise_can_have_has_a_question() -> None:
    assert {one.slug for one in POSSIBLE} == set(questions())


def test_a_question_is_one_sentence() -> None:
    for slug, text in questions().items():
        assert text[0].isupper(), slug
        assert text.endswith("?"), slug
        assert text.count("?") == 1, slug
        assert ". " not in text, slug


def test_no_question_has_a_word_of_the_correction() -> None:
    told = {one.name: corrections(one) & set(WORD.findall(questions()[one.slug])) for one in POSSIBLE}
    assert not {name: words for name, words in told.items() if words}


def test_a_correction_in_a_question_would_be_seen() -> None:
    mistake = next(one for one in POSSIBLE if one.slug == "rope_theta_ignored")
    assert "base" in corrections(mistake)


def test_an_unknown_mistake_gets_the_question_of_its_law() -> None:
    assert question_about(("nothing=known",), "causal.prefix") == question_by_law("causal.prefix")
    assert question_about((), "error:softmax returned None; expected an array") != question_by_law("value")
    assert question_about(("scale_missing",), "scale") == questions()["scale_missing"]
