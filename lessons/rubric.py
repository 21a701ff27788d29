"""A lecturer's rubric: which exercises count, how many points, at which seeds, within which limits."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import UnknownExercise, exercise_called, exercises

_LIMITS = ("time_limit", "memory_limit")
_KEYS = {"seeds", *_LIMITS, "exercises"}
_OF_EXERCISE = {"points", "laws"}


class UnusableRubric(ValueError):
    """A rubric cannot be read or contradicts itself; the message says what to change."""


@dataclass(frozen=True)
class Graded:
    """How one exercise is graded: its points, all or nothing, or the points of groups of laws, by their patterns."""

    exercise: Exercise
    points: float
    laws: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Rubric:
    """What is graded, in order; `memory_limit` is in GiB."""

    exercises: tuple[Graded, ...]
    seeds: tuple[int, ...] = (0,)
    time_limit: float = 5.0
    memory_limit: float = 2.0


def usual_rubric() -> Rubric:
    """Return a rubric with one point for each exercise."""
    return Rubric(tuple(Graded(exercise, 1.0) for exercise in exercises().values()))


def read_rubric(path: Path) -> Rubric:
    """Return the rubric in a TOML file; UnusableRubric."""
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnusableRubric(f"{path} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableRubric(f"{path} is not TOML: {error}") from error
    _refuse_unknown(record, _KEYS, str(path))
    graded = tuple(_graded(name, one, path) for name, one in _table(record, "exercises", path).items())
    if not graded:
        raise UnusableRubric(f"{path} grades no exercise; write [exercises.softmax] with points = 1")
    limits = {name: _number(record[name], f"{path}: {name}") for name in _LIMITS if name in record}
    return Rubric(graded, _seeds(record.get("seeds", [0]), path), **limits)


def _graded(name: str, record: Any, path: Path) -> Graded:
    try:
        exercise = exercise_called(name)
    except UnknownExercise as error:
        raise UnusableRubric(f"{path}: {error}") from error
    if not isinstance(record, dict):
        raise UnusableRubric(f"{path}: exercises.{name} is no table; write points = 1 in it")
    _refuse_unknown(record, _OF_EXERCISE, f"{path}: exercises.{name}")
    laws = {key: _number(value, f"{path}: {name}, {key}") for key, value in _table(record, "laws", path).items()}
    _refuse_idle(laws, exercise, path)
    whole = _number(record.get("points", sum(laws.values()) or 1), f"{path}: points of {name}")
    if laws and not math.isclose(sum(laws.values()), whole):
        raise UnusableRubric(f"{path}: the laws of {name} have {sum(laws.values()):g} points, and it has {whole:g}")
    return Graded(exercise, whole, laws)


def _refuse_idle(laws: Mapping[str, float], exercise: Exercise, path: Path) -> None:
    """Raise UnusableRubric for a pattern that no law of the exercise has, or that only earlier ones catch."""
    from veriformer.lessons.grading import pattern_of

    used = {pattern_of(law, tuple(laws)) for law in exercise.laws}
    idle = [pattern for pattern in laws if pattern not in used]
    if idle:
        raise UnusableRubric(f"{path}: no law of {exercise.id} has the pattern {idle[0]!r} before others; leave it out")


def _refuse_unknown(record: Mapping[str, Any], known: set[str], place: str) -> None:
    unknown = [key for key in record if key not in known]
    if unknown:
        raise UnusableRubric(f"{place} has {unknown[0]!r}; it takes {', '.join(sorted(known))}")


def _table(record: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    found = record.get(key, {})
    if not isinstance(found, dict):
        raise UnusableRubric(f"{path}: {key} is a {type(found).__name__}; write it as a table")
    return found


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UnusableRubric(f"{place} is {value!r}; write a number above 0")
    return float(value)


def _seeds(value: Any, path: Path) -> tuple[int, ...]:
    numbers = value if isinstance(value, list) else []
    if not numbers or any(isinstance(one, bool) or not isinstance(one, int) for one in numbers):
        raise UnusableRubric(f"{path}: seeds is {value!r}; write whole numbers, such as [3, 14]")
    return tuple(numbers)
