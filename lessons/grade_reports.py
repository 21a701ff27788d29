"""Grades for people and for programs: lines of a terminal, JSON, JUnit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def students_json(grades: Mapping[str, Sequence[Grade]], folder: str) -> dict[str, Any]:
    """Return the grades of several students, each as `grades_json` writes them."""
    return {
        "schema": _SCHEMA,
        "folder": folder,
        "students": [grades_json(one, student) for student, one in grades.items()],
    }


def students_junit(grades: Mapping[str, Sequence[Grade]]) -> str:
    """Return the grades of several students as JUnit XML: a suite for each."""
    suites = ElementTree.Element("testsuites", name="veriformer learn")
    suites.extend(_suite(one, _written(student)) for student, one in grades.items())
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def students_lines(grades: Mapping[str, Sequence[Grade]]) -> Lines:
    """Return the points of each student, one a line."""
    width = max(map(len, grades), default=0)
    rows = [(plain(student), *totals(one)) for student, one in grades.items()]
    return [blank(), *(Text(f"{student.ljust(width)}   {got:g} of {of:g} points") for student, got, of in rows)]


def grades_junit(grades: Sequence[Grade]) -> str:
    """Return grades as JUnit XML: a test for each exercise, or for each group of its laws."""
    suite = _suite(grades, "veriformer learn")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _suite(grades: Sequence[Grade], name_of_suite: str) -> ElementTree.Element:
    cases = [(grade, group) for grade in grades for group in grade.groups]
    failed = sum(not group.holds for _, group in cases)
    suite = ElementTree.Element("testsuite", name=name_of_suite, tests=str(len(cases)), failures=str(failed))
    for grade, group in cases:
        name = grade.graded.exercise.id + (f" {group.pattern}" if grade.graded.laws else "")
        case = ElementTree.SubElement(suite, "testcase", classname="veriformer.learn", name=_written(name))
        if not group.holds:
            message = _written(outcome_sentence(grade.outcome) or grade.outcome.state)
            ElementTree.SubElement(case, "failure", message=message).text = _written(str(grade.outcome))
    return suite


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
