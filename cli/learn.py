"""`veriformer learn`: the course, its exercises, and hints."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from veriformer.cli.failures import UserError
from veriformer.cli.learn_grade import grade_command, spot_command
from veriformer.cli.learn_notebooks import notebooks_command
from veriformer.cli.options import file_option, writing

if TYPE_CHECKING:
    from veriformer.lessons.exercise import Exercise
    from veriformer.lessons.outcome import Outcome

FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
_FRAMEWORK = click.option(
    "--framework", type=click.Choice(("numpy", "torch", "jax")), default="numpy", show_default=True, help="The arrays."
)


@click.group("learn", invoke_without_command=True, short_help="A course: lessons, exercises that laws grade, hints.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Path(), help="The folder with your answers.")
@click.pass_context
def learn_command(context: click.Context, folder: Path) -> None:
    """Show the course: its lessons in order, what is done, what is next.

    Begin with: veriformer learn new my_course, then: veriformer learn check my_course
    """
    if context.invoked_subcommand is not None:
        return
    from veriformer.cli.output import print_page
    from veriformer.lessons.listing import course_lines
    from veriformer.lessons.progress import read_progress

    print_page(course_lines(read_progress(folder)))


@learn_command.command("new", short_help="Write the exercises.")
@FOLDER
@_FRAMEWORK
def new_command(folder: Path, framework: Any) -> None:
    """Write a file for each exercise: the signature, the formula, and nothing else. No file is overwritten."""
    from veriformer.conformance_tests.core.text import counted
    from veriformer.lessons.exercises import exercises
    from veriformer.lessons.starters import write_starters

    with writing(folder):
        written, kept = write_starters(folder, framework)
    also = f", {counted(len(kept), 'file')} there already and left as they are" if kept else ""
    click.echo(f"{counted(len(written), 'exercise')} written to {folder}{also}.")
    first = next(iter(exercises().values()))
    command = shlex.join(["veriformer", "learn", "check", str(folder), first.id])
    click.echo(f"Begin with {folder / first.file_name}, then:  {command}")


@learn_command.command("check", short_help="Grade the answers.")
@FOLDER
@click.argument("names", metavar="[EXERCISE]...", nargs=-1)
def check_answers_command(folder: Path, names: tuple[str, ...]) -> int:
    """Grade the answers in DIR: the first broken law of each exercise, or done.

    Exit status: 0 every exercise is done, of those named if any are, 1 not all are, 2 it could not run.
    """
    from veriformer.cli.output import print_page
    from veriformer.lessons.feedback import outcome_lines
    from veriformer.lessons.progress import read_progress

    folder, names = _in_order(folder, names)
    wanted, progress = _exercises(folder, names), read_progress(folder)
    outcomes = []
    for exercise in wanted:
        outcomes.append(_outcome(folder, exercise))
        progress.record(outcomes[-1:])
        if names or outcomes[-1].state != "not_begun":
            print_page(outcome_lines(outcomes[-1]))
    with writing(folder):
        progress.save()
    print_page(_closing(outcomes, folder))
    return int(not all(one.done for one in outcomes))


@learn_command.command("hint", short_help="Give the next hint.")
@click.argument("name", metavar="EXERCISE")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path())
@click.option("--again", is_flag=True, help="Begin with the first hint again.")
def hint_command(name: str, folder: Path, again: bool) -> int:
    """Give the next hint about an answer: the law and the smallest case, a question, the mistake.

    Exit status: 0 the exercise is done, 1 it is not, 2 it could not run.
    """
    from veriformer.cli.output import print_page
    from veriformer.lessons.progress import read_progress

    folder, (name,) = _in_order(folder, (name,))
    (exercise,) = _exercises(folder, (name,))
    outcome, progress = _outcome(folder, exercise), read_progress(folder)
    if again:
        progress.standings.pop(exercise.id, None)
    from veriformer.lessons.hints import LAYERS
    from veriformer.lessons.next_hint import next_hint_lines

    layer = LAYERS[progress.next_layer(outcome, len(LAYERS)) - 1]
    print_page(next_hint_lines(outcome, folder / exercise.file_name, layer))
    with writing(folder):
        progress.save()
    return int(not outcome.done)


@learn_command.command("lesson", short_help="Show a lesson.")
@click.argument("identifier", metavar="LESSON")
@click.option("--step", type=click.IntRange(min=1), help="Show one step of the lesson's derivations.")
@file_option("--notebook", meaning="Write the lesson as a notebook instead.")
def lesson_command(identifier: str, step: int | None, notebook: Path | None) -> None:
    """Show a lesson, by its name or number: its text, with what its blocks print and draw."""
    from veriformer.cli.output import print_page
    from veriformer.lessons.course import UnknownLesson, lesson_called

    try:
        lesson = lesson_called(identifier)
    except UnknownLesson as error:
        raise UserError(str(error), error) from error
    if notebook is not None:
        from veriformer.lessons.notebooks import notebook as as_notebook

        with writing(notebook):
            notebook.write_text(as_notebook(lesson), encoding="utf-8")
        return
    from veriformer.lessons.lesson_page import NoSuchStep, lesson_lines, step_lines

    try:
        print_page(lesson_lines(lesson) if step is None else step_lines(lesson, step))
    except NoSuchStep as error:
        raise UserError(str(error), error) from error


def _in_order(folder: Path, names: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
    """Return the folder and the exercises, where what stands for the folder is none and one of the others is."""
    places = [place for place, name in enumerate(names) if Path(name).is_dir()]
    if folder.is_dir() or not places:
        return folder, names
    place = places[0]
    return Path(names[place]), (str(folder), *names[:place], *names[place + 1 :])


def _exercises(folder: Path, names: tuple[str, ...]) -> list[Exercise]:
    """Return the named exercises, or all; UserError for a folder or an exercise that does not exist."""
    from veriformer.lessons.exercises import UnknownExercise, exercise_called, exercises

    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; veriformer learn new {folder} writes one with the exercises")
    try:
        return [exercise_called(name.removesuffix(".py").removesuffix(".toml")) for name in names] or list(
            exercises().values()
        )
    except UnknownExercise as error:
        raise UserError(str(error), error) from error


def _outcome(folder: Path, exercise: Exercise) -> Outcome:
    from veriformer.lessons.checking import check_file

    return check_file(folder / exercise.file_name, exercise)


def _closing(outcomes: list[Outcome], folder: Path) -> list[Any]:
    from veriformer.lessons.next_hint import closing_lines

    return closing_lines(outcomes, folder)


learn_command.add_command(grade_command)
learn_command.add_command(notebooks_command)
learn_command.add_command(spot_command)
