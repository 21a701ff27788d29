"""Grading written answers: each is compared exactly, and the first that is wrong is what the learner hears of."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from veriformer.lessons.asked import Asked, sheet
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.formulas import UnreadableFormula, formulas, is_near, same_value
from veriformer.lessons.outcome import Outcome, State
from veriformer.lessons.reading import NotBegun, Unclear, read_text


@dataclass(frozen=True)
class Judged:
    """One answer: whether it is right, and a sentence that does not give the right one away."""

    question: Asked
    right: bool
    given: bool = True
    sentence: str = ""


def check_answer_file(path: Path, exercise: Exercise) -> Outcome:
    """Grade the answers in a file."""
    try:
        given = tomllib.loads(read_text(path))
    except (NotBegun, Unclear) as reason:
        state: State = "not_begun" if isinstance(reason, NotBegun) else "unclear"
        return Outcome(exercise, state, str(reason), place=path.name)
    except tomllib.TOMLDecodeError as error:
        sentence = f'{path.name} cannot be read: {error}; write each answer as name = "answer"'
        return Outcome(exercise, "unclear", sentence, place=path.name)
    return check_answers(given, exercise, path.name)


def check_answers(given: object, exercise: Exercise, place: str = "your answers") -> Outcome:
    """Grade answers by the names of their questions."""
    if not isinstance(given, Mapping):
        sentence = f"answers are a mapping from question to text; this is a {type(given).__name__}"
        return Outcome(exercise, "unclear", sentence, place=place)
    judged = judged_answers(given, exercise)
    unknown = [name for name in given if name not in {one.question.id for one in judged}]
    outcome = Outcome(
        exercise,
        "done",
        notes=(f"no question is called {unknown[0]}",) if unknown else (),
        held=sum(one.right for one in judged),
        tried=len(judged),
        place=place,
    )
    if not any(one.given for one in judged):
        return replace(outcome, state="not_begun", sentence=f"nothing has been answered in {place} yet")
    wrong = next((one for one in judged if not one.right), None)
    if wrong is None:
        return outcome
    return replace(outcome, state="broken", sentence=f"{wrong.question.id}: {wrong.sentence}")


def judged_answers(given: Mapping[str, object], exercise: Exercise) -> list[Judged]:
    """Return each question with what is to be said of its answer."""
    return [_judged(question, given.get(question.id, "")) for question in sheet(exercise.id).questions]


def _judged(question: Asked, answer: object) -> Judged:
    text = answer if isinstance(answer, str) else _written(answer)
    if text is None:
        return Judged(question, False, sentence=f"an answer is a text in quotes: {question.wants}")
    if not text.strip():
        return Judged(question, False, given=False, sentence="there is no answer yet")
    if question.kind == "choice":
        return _choice(question, text)
    try:
        return _formulas(question, _shape(text) if question.kind == "shape" else text)
    except UnreadableFormula as error:
        return Judged(question, False, sentence=f"{error}; the question asks for {question.wants}")


def _written(answer: object) -> str | None:
    """Return a number or a list of numbers as it would be written; None for anything else."""
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return repr(answer)
    if isinstance(answer, list):
        parts = [part if isinstance(part, str) else _written(part) for part in answer]
        return ", ".join(part for part in parts if part is not None) if None not in parts else None
    return None


def _shape(text: str) -> str:
    """Return a shape with commas, which people also write with crosses."""
    return text.replace("×", ",").replace("x", ",").replace("by", ",")


def _choice(question: Asked, text: str) -> Judged:
    letter = text.strip().strip("()").lower()
    if letter not in question.lettered:
        return Judged(question, False, sentence=f"the question asks for {question.wants}")
    return Judged(question, letter == question.answer, sentence="that is not it; read the lesson's claim once more")


def _formulas(question: Asked, text: str) -> Judged:
    wanted, given = (formulas(one, question.symbols) for one in (question.answer, text))
    if len(wanted) != len(given):
        numbers = "one number" if len(wanted) == 1 else f"{len(wanted)} numbers"
        return Judged(question, False, sentence=f"the question asks for {numbers}, and there are {len(given)}")
    wrong = [place for place, pair in enumerate(zip(wanted, given, strict=True), 1) if not same_value(*pair)]
    if not wrong:
        return Judged(question, True)
    place = wrong[0]
    where = "" if len(wanted) == 1 else f"number {place} "
    if is_near(wanted[place - 1], given[place - 1]):
        return Judged(question, False, sentence=f"{where}is rounded; write the exact value".strip())
    return Judged(question, False, sentence=f"{where}is not it".strip() if where else "that is not it")
