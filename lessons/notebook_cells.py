"""One cell of a notebook: otter and nbgrader run it and count whether it raises."""

from __future__ import annotations

from veriformer.lessons.checking import check_exercise
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.outcome import Outcome


def grade(answer: object, exercise: str | Exercise, *, framework: str | None = None, seed: int = 0) -> Outcome:
    """Return the outcome of an answer that is right; AssertionError with the feedback for any other.

        from veriformer.lessons import grade
        grade(softmax, "softmax")

    Raises UnknownExercise where there is no such exercise.
    """
    outcome = check_exercise(answer, exercise, framework=framework, seed=seed)
    if outcome.done:
        return outcome
    raise AssertionError(f"\n{_feedback(outcome)}")


def _feedback(outcome: Outcome) -> str:
    from veriformer.conformance_tests.reports.layout import as_text, blank
    from veriformer.lessons.feedback import hint_lines, outcome_lines
    from veriformer.lessons.hints import hints_of

    if outcome.law is None:
        return str(outcome)
    return as_text([*outcome_lines(outcome), blank(), *hint_lines(hints_of(outcome), 1)])
