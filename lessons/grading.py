"""Grading a folder by a rubric: points by exercise, or by groups of laws, at every seed of the rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.lessons.checking import check_file
from veriformer.lessons.exercises import exercises
from veriformer.lessons.outcome import Outcome
from veriformer.lessons.rubric import Graded, Rubric

if TYPE_CHECKING:
    from veriformer.adapters.isolation.limits import ProcessLimits

Place = Callable[[Graded], Path]


@dataclass(frozen=True)
class Group:
    """A group of laws of one exercise: its pattern, whether all of them hold at every seed, its points."""

    pattern: str
    holds: bool
    points: float


@dataclass(frozen=True)
class Grade:
    """The grade of one exercise: the outcome at the first seed that is not right, else at the last, and its groups."""

    graded: Graded
    outcome: Outcome
    groups: tuple[Group, ...]
    seed: int

    @property
    def points(self) -> float:
        """The points that it got."""
        return sum(group.points for group in self.groups if group.holds)


def graded(folder: Path, rubric: Rubric, place: Place | None = None, called: str = "") -> Iterator[Grade]:
    """Yield the grade of each exercise of the rubric, as it is known.

    `place` says where an answer is, and `called` what its file is called where the student knows it by another name.
    """
    limits = limits_of(rubric)
    for one in rubric.exercises:
        path = folder / one.exercise.file_name if place is None else place(one)
        yield _grade(one, path, rubric.seeds, limits, called)


def students_in(folder: Path) -> list[Path]:
    """Return the folders of students in a folder that has no answers of its own, in the order of their names."""
    if _has_answers(folder):
        return []
    return [one for one in sorted(folder.iterdir()) if one.is_dir() and _has_answers(one)]


def _has_answers(folder: Path) -> bool:
    return any((folder / one.file_name).is_file() for one in exercises().values())


def limits_of(rubric: Rubric) -> ProcessLimits:
    """Return the limits of the process that an answer runs in."""
    from veriformer.adapters.isolation.limits import GIBIBYTE, ProcessLimits

    return ProcessLimits().changed(rubric.time_limit, int(rubric.memory_limit * GIBIBYTE))


def pattern_of(law: str, patterns: tuple[str, ...]) -> str:
    """Return the first pattern that a law's id, or its key, fits; empty where none does."""
    key = law.partition(".")[2]
    return next((pattern for pattern in patterns if fnmatchcase(law, pattern) or fnmatchcase(key, pattern)), "")


def _grade(one: Graded, path: Path, seeds: tuple[int, ...], limits: ProcessLimits, called: str) -> Grade:
    outcomes = []
    for seed in seeds:
        outcomes.append((seed, check_file(path, one.exercise, seed, limits, called=called)))
        # Without laws to give points for, the first seed that is not right settles it.
        if not outcomes[-1][1].done and (not one.laws or outcomes[-1][1].report is None):
            break
    seed, outcome = next((pair for pair in outcomes if not pair[1].done), outcomes[-1])
    return Grade(one, outcome, _groups(one, [outcome for _, outcome in outcomes]), seed)


def _groups(one: Graded, outcomes: list[Outcome]) -> tuple[Group, ...]:
    if not one.laws:
        return (Group("*", all(outcome.done for outcome in outcomes), one.points),)
    judged = [_held_by_pattern(one, outcome) for outcome in outcomes]
    return tuple(
        Group(pattern, all(held.get(pattern, False) for held in judged), points) for pattern, points in one.laws.items()
    )


def _held_by_pattern(one: Graded, outcome: Outcome) -> Mapping[str, bool]:
    """Return for each pattern whether its laws hold; one whose laws were not tried is missing."""
    held: dict[str, bool] = {}
    if outcome.report is None or outcome.state == "not_begun":
        return held
    for result in outcome.report.results:
        if result.status in ("passed", "failed", "error"):
            pattern = pattern_of(result.law.id, tuple(one.laws))
            held[pattern] = held.get(pattern, True) and result.status == "passed"
    return held
