"""The catalogue of exercises, and the lessons that they belong to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from veriformer.lessons.exercise import Exercise, LessonTitle


class UnknownExercise(ValueError):
    """No exercise has the requested id; the message names the closest one."""


@cache
def exercises() -> Mapping[str, Exercise]:
    """Return every exercise by its id, in the order of the course."""
    return MappingProxyType({record["id"]: _exercise(record) for record in _records()["exercise"]})


@cache
def lesson_titles() -> Mapping[str, LessonTitle]:
    """Return every lesson of the course by its id, in order."""
    return MappingProxyType({record["id"]: LessonTitle(**record) for record in _records()["lesson"]})


def exercise_called(identifier: str) -> Exercise:
    """Return an exercise; UnknownExercise where there is none of that id."""
    if identifier in exercises():
        return exercises()[identifier]
    from veriformer.adapters.spelling import suggestion

    hint = suggestion(identifier, exercises(), cutoff=0.5)
    raise UnknownExercise(f"there is no exercise {identifier!r}{hint} (veriformer learn lists them)")


def exercises_of(operation: str) -> tuple[Exercise, ...]:
    """Return the exercises that an operation's laws grade."""
    return tuple(exercise for exercise in exercises().values() if exercise.operation == operation)


def _exercise(record: dict[str, Any]) -> Exercise:
    sequences = {name: tuple(record.get(name, ())) for name in ("keywords", "after")}
    return Exercise(**{"kind": "operation", **record, **sequences})


@cache
def _records() -> dict[str, Any]:
    file = resources.files(__package__).joinpath("exercises.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
