"""Grades for people and for programs: lines of a terminal, JSON, JUnit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from rich.text import Text
from veriformer.conformance_tests.core.text import plain, printable
from veriformer.conformance_tests.reports.layout import Lines, blank, heading
from veriformer.lessons.feedback import WIDTH, outcome_lines, outcome_sentence
from veriformer.lessons.grading import Grade, Group

_SCHEMA = 1


def grade_lines(grade: Grade, width: int = WIDTH) -> Lines:
    """Return the grade of one exercise."""
    first, *rest = outcome_lines(grade.outcome, width)
    first.append(f"   {grade.points:g} of {grade.graded.points:g}", style="bold")
    return [first, *rest, *(_group(group) for group in grade.groups if grade.graded.laws)]


def total_lines(grades: Sequence[Grade]) -> Lines:
    """Return the points of all exercises together."""
    got, of = totals(grades)
    return [blank(), heading(f"{got:g} of {of:g} points")]


def totals(grades: Sequence[Grade]) -> tuple[float, float]:
    """Return the points that were got, and those that there are."""
    return sum(grade.points for grade in grades), sum(grade.graded.points for grade in grades)


def grades_json(grades: Sequence[Grade], folder: str) -> dict[str, Any]:
    """Return grades as data that can be written as JSON."""
    got, of = totals(grades)
    return {
        "schema": _SCHEMA,
        "folder": folder,
        "points": got,
        "of": of,
        "exercises": [_exercise_json(grade) for grade in grades],
    }


def grades_junit(grades: Sequence[Grade]) -> str:
    """Return grades as JUnit XML: a test for each exercise, or for each group of its laws."""
    cases = [(grade, group) for grade in grades for group in grade.groups]
    failed = sum(not group.holds for _, group in cases)
    suite = ElementTree.Element("testsuite", name="veriformer learn", tests=str(len(cases)), failures=str(failed))
    for grade, group in cases:
        name = grade.graded.exercise.id + (f" {group.pattern}" if grade.graded.laws else "")
        case = ElementTree.SubElement(suite, "testcase", classname="veriformer.learn", name=_written(name))
        if not group.holds:
            message = _written(outcome_sentence(grade.outcome) or grade.outcome.state)
            ElementTree.SubElement(case, "failure", message=message).text = _written(str(grade.outcome))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _group(group: Group) -> Text:
    mark = "✓" if group.holds else "✗"
    return Text(f"    {mark} {plain(group.pattern)}   {group.points * group.holds:g} of {group.points:g}")


def _exercise_json(grade: Grade) -> dict[str, Any]:
    outcome = grade.outcome
    return {
        "exercise": grade.graded.exercise.id,
        "state": outcome.state,
        "points": grade.points,
        "of": grade.graded.points,
        "sentence": plain(outcome_sentence(outcome)),
        "law": outcome.law.law.id if outcome.law else None,
        "mistakes": list(outcome.mistakes),
        "seed": grade.seed,
        "groups": [{"laws": one.pattern, "holds": one.holds, "points": one.points} for one in grade.groups],
        "notes": [plain(note) for note in outcome.notes],
    }


def _written(text: str) -> str:
    """Return text that XML can hold: control characters are written out."""
    return printable(text)
