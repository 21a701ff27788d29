"""Grading one answer: the laws of its operation are tried, and the weakest that is broken counts."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import exercise_called
from veriformer.lessons.outcome import Outcome
from veriformer.lessons.reading import NotBegun, Unclear, read_program

if TYPE_CHECKING:
    from veriformer.adapters.implementation import Implementation
    from veriformer.adapters.isolation.limits import ProcessLimits
    from veriformer.conformance_tests.run.report import Report

SECONDS = 5.0
_ARRAYS = ("torch", "jax")


def check_exercise(
    answer: object,
    exercise: str | Exercise,
    *,
    framework: str | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    shrink: bool = True,
) -> Outcome:
    """Grade an answer and return what became of it.

    `answer`: a file, which runs in a process of its own; or a function, a class or an object, which runs in this one.
    `exercise`: its id, or the exercise.
    `framework`: the arrays that a function takes, found by what its module imports if it is not given.
    `seed`: the same seed draws the same cases.
    `time_limit`, `memory_limit`: the seconds that a call of a file may take, 5 by default, and the bytes.
    `shrink`: look for the smallest case.

    Raises UnknownExercise where there is no such exercise.
    """
    wanted = exercise if isinstance(exercise, Exercise) else exercise_called(exercise)
    if isinstance(answer, str | Path):
        return check_file(Path(answer), wanted, seed, _limits(time_limit, memory_limit), shrink=shrink)
    if wanted.kind == "answers":
        from veriformer.lessons.answers import check_answers

        return check_answers(answer, wanted)
    return _judged(_held(answer, wanted, framework), wanted, seed, "your answer", None, shrink=shrink)


def check_file(
    path: Path,
    exercise: Exercise,
    seed: int = 0,
    limits: ProcessLimits | None = None,
    *,
    shrink: bool = True,
    called: str = "",
) -> Outcome:
    """Grade the answer in a file, in a process of its own; `called` is what the file is called, its name if empty."""
    if exercise.kind == "answers":
        from veriformer.lessons.answers import check_answer_file

        return check_answer_file(path, exercise)
    try:
        read_program(path, exercise)
    except (NotBegun, Unclear) as reason:
        return _without_running(exercise, reason, called or path.name)
    outcome = _judged(path, exercise, seed, called or path.name, limits, shrink=shrink)
    return replace(outcome, sentence=outcome.sentence.replace(str(path), called)) if called else outcome


def implementation_of(
    answer: object, exercise: Exercise, framework: str | None = None, limits: ProcessLimits | None = None
) -> Implementation:
    """Return an answer as an implementation: a file in a process of its own, anything else in this one; LoadError."""
    if isinstance(answer, str | Path):
        from veriformer.adapters.isolation.loading import load_isolated

        return load_isolated(str(answer), limits or _limits(None, None))
    from veriformer.adapters.loading import load

    return load(_held(answer, exercise, framework))


def _without_running(exercise: Exercise, reason: NotBegun | Unclear, place: str) -> Outcome:
    return Outcome(exercise, "not_begun" if isinstance(reason, NotBegun) else "unclear", str(reason), place=place)


def _limits(seconds: float | None, memory: int | None) -> ProcessLimits:
    from veriformer.adapters.isolation.limits import ProcessLimits

    return ProcessLimits().changed(seconds or SECONDS, memory)


def _held(answer: object, exercise: Exercise, framework: str | None) -> object:
    """Return an object with the operation as an attribute, which a function is not."""
    if hasattr(answer, exercise.operation) or not callable(answer):
        return answer
    arrays = framework or _framework_of(answer)
    return SimpleNamespace(**{exercise.operation: answer, "framework": arrays})


def _framework_of(function: Any) -> str:
    """Return the framework whose package the function's module has imported under some name; else numpy."""
    names = getattr(function, "__globals__", {})
    if isinstance(names.get("framework"), str):
        return str(names["framework"])
    packages = [sys.modules[name] for name in _ARRAYS if name in sys.modules]
    found = [package.__name__ for package in packages if any(value is package for value in names.values())]
    return found[0] if found else "numpy"


def _judged(
    answer: object, exercise: Exercise, seed: int, place: str, limits: ProcessLimits | None, *, shrink: bool
) -> Outcome:
    from veriformer.adapters.errors import LoadError

    try:
        implementation = implementation_of(answer, exercise, limits=limits)
    except LoadError as error:
        return Outcome(exercise, "unclear", str(error), place=place)
    try:
        missing = _missing(implementation, exercise)
        if missing:
            return Outcome(exercise, "unclear", missing, place=place)
        return _outcome(exercise, _report(implementation, exercise, seed, shrink=shrink), place)
    finally:
        implementation.close()


def _missing(implementation: Implementation, exercise: Exercise) -> str:
    """Return a sentence about a function or keyword that the exercise asks for and the answer lacks; empty if none."""
    if exercise.operation not in implementation.operations:
        return f"the answer has no function {exercise.operation}; the exercise asks for that name"
    features = implementation.features(exercise.operation)
    lacking = [name for name in exercise.keywords if name not in features]
    if not lacking:
        return ""
    return f"{exercise.operation} has no keyword {lacking[0]}; write it into the signature, as {lacking[0]}=None"


def _report(implementation: Implementation, exercise: Exercise, seed: int, *, shrink: bool) -> Report:
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.conformance_tests.run.checking import run_check
    from veriformer.conformance_tests.run.options import RunOptions

    selection = Selection(operations=exercise.operations, seed=seed)
    return run_check(implementation, RunOptions(selection, shrink=shrink))


def _outcome(exercise: Exercise, report: Report, place: str) -> Outcome:
    from veriformer.adapters.notices import ALONG_FIRST_AXIS
    from veriformer.conformance_tests.core.law_result import is_broken

    results = {result.law.id: result for result in report.results}
    judged = [results[law] for law in exercise.laws if results[law].status in ("passed", "failed", "error")]
    broken = [result for result in judged if is_broken(result)]
    # What is told beside the laws must not name the mistake: hints do, when they are asked for.
    notes = tuple(note for note in report.notices if ALONG_FIRST_AXIS not in note)
    outcome = Outcome(exercise, "done", "", None, report, notes, len(judged) - len(broken), len(judged), place)
    if not judged:
        sentence = next((one.reason for one in report.results if one.reason), "no law could be tried")
        return replace(outcome, state="unclear", sentence=sentence)
    if not broken:
        return outcome
    # Where a call did not return, other laws were not tried: they say less.
    first = next((result for result in broken if "did not return" in result.reason), broken[0])
    if first.status == "error" and "NotImplementedError" in first.reason:
        return replace(outcome, state="not_begun", sentence=f"a part of {place} still raises NotImplementedError")
    return replace(outcome, state="broken", law=first)
