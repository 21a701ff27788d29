"""`veriformer learn grade` and `veriformer learn spot`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from veriformer.cli.failures import UserError
from veriformer.cli.options import file_option, refuse_files, writing

if TYPE_CHECKING:
    from veriformer.lessons.grading import Grade


@click.command("grade", short_help="Grade a folder by a rubric, for lecturers.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@file_option("--rubric", meaning="Points, seeds and limits; one point for each exercise without it.")
@file_option("--cs336", meaning="Grade the adapters of the course CS336 in this file instead.")
@file_option("--json", "json_file", meaning="Write the grades as JSON too.")
@file_option("--junit", "junit_file", meaning="Write the grades as JUnit XML too.")
def grade_command(
    folder: Path | None, rubric: Path | None, cs336: Path | None, json_file: Path | None, junit_file: Path | None
) -> int:
    """Grade the answers in DIR by a rubric: points by exercise or by groups of laws, at the rubric's seeds.

    Where DIR has no answers, but folders with some, each of them is graded: one folder for each student.

    Each answer runs in a process of its own, within the rubric's limits of time and memory. Exit status: 0 all points,
    1 not all, 2 it could not run.
    """
    read = [str(one) for one in (rubric, cs336) if one is not None]
    refuse_files({"--json": json_file, "--junit": junit_file}, read)
    if cs336 is None and folder is not None and folder.is_dir():
        from veriformer.lessons.grading import students_in

        students = students_in(folder)
        if students:
            return _of_students(folder, students, rubric, json_file, junit_file)
    grades = _adapter_grades(cs336, folder, rubric) if cs336 is not None else _folder_grades(folder, rubric)
    from veriformer.cli.output import print_page
    from veriformer.lessons.grade_reports import grade_lines, grades_json, grades_junit, total_lines, totals

    done = []
    for grade in grades:
        done.append(grade)
        print_page(grade_lines(grade))
    _write(json_file, _as_text(grades_json(done, str(cs336 or folder))))
    _write(junit_file, grades_junit(done))
    print_page(total_lines(done))
    got, of = totals(done)
    return int(got < of)


def _of_students(
    folder: Path, students: list[Path], rubric: Path | None, json_file: Path | None, junit_file: Path | None
) -> int:
    """Grade the folder of each student, and last show the points of all."""
    from veriformer.cli.output import print_page
    from veriformer.conformance_tests.reports.layout import blank, heading
    from veriformer.lessons.grade_reports import (
        grade_lines,
        students_json,
        students_junit,
        students_lines,
        totals,
    )

    done: dict[str, list[Grade]] = {}
    for student in students:
        print_page([*([blank()] if done else []), heading(student.name)])
        its = done.setdefault(student.name, [])
        for grade in _folder_grades(student, rubric):
            its.append(grade)
            print_page(grade_lines(grade))
    _write(json_file, _as_text(students_json(done, str(folder))))
    _write(junit_file, students_junit(done))
    print_page(students_lines(done))
    return int(any(got < of for got, of in map(totals, done.values())))


def _as_text(written: dict[str, Any]) -> str:
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def _write(file: Path | None, text: str) -> None:
    from veriformer.conformance_tests.run.atomic import write_text

    if file is not None:
        with writing(file):
            write_text(file, text)


@click.command("spot", short_help="Find an input on which a wrong program fails.")
@click.argument("number", metavar="[NUMBER]", type=int, required=False)
@file_option("--answer", meaning="The input that you have found.")
@file_option("--write", meaning="Write an input to begin with.")
def spot_command(number: int | None, answer: Path | None, write: Path | None) -> int:
    """Show a wrong program; the answer is an input on which it fails, the smaller the better.

    Exit status: 0 the input shows the fault, or none was given, 1 it does not, 2 it could not run.
    """
    from veriformer.cli.output import print_page
    from veriformer.lessons.spot_pages import judged_lines, puzzle_lines, puzzles_lines
    from veriformer.lessons.spotting import UnusableInput, judged, puzzles

    if number is None:
        print_page(puzzles_lines())
        return 0
    if not 1 <= number <= len(puzzles()):
        raise UserError(f"the programs are numbered from 1 to {len(puzzles())}; there is no {number}")
    puzzle = puzzles()[number - 1]
    if write is not None:
        return _written(write, puzzle.template)
    if answer is None:
        print_page(puzzle_lines(puzzle, number))
        return 0
    try:
        found = judged(puzzle, answer)
    except UnusableInput as error:
        raise UserError(str(error), error) from error
    print_page(judged_lines(puzzle, found))
    return int(not found.shows)


def _written(path: Path, text: str) -> int:
    with writing(path):
        if path.exists():
            raise UserError(f"there is a file {path} already; name another")
        path.write_text(text, encoding="utf-8")
    click.echo(f"{path} written.")
    return 0


def _folder_grades(folder: Path | None, rubric: Path | None) -> Iterator[Grade]:
    from veriformer.lessons.grading import graded
    from veriformer.lessons.rubric import UnusableRubric, read_rubric, usual_rubric

    if folder is None or not folder.is_dir():
        raise UserError("name the folder with the answers" if folder is None else f"there is no folder {folder}")
    try:
        chosen = read_rubric(rubric) if rubric is not None else usual_rubric()
    except UnusableRubric as error:
        raise UserError(str(error), error) from error
    return graded(folder, chosen)


def _adapter_grades(adapters: Path, folder: Path | None, rubric: Path | None) -> Iterator[Grade]:
    from veriformer.lessons.cs336 import NoAdapters, bridge
    from veriformer.lessons.grading import graded

    if folder is not None or rubric is not None:
        raise UserError("--cs336 grades one file, with a point for each function; give neither DIR nor --rubric")
    try:
        with bridge(adapters) as (path, points):
            yield from graded(path.parent, points, lambda _: path, str(adapters))
    except NoAdapters as error:
        raise UserError(str(error), error) from error
