"""The course as lines of a terminal: the lessons in order, what is done, what is next."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.reports.layout import Lines, blank, heading, paragraph
from veriformer.lessons.exercise import Exercise, LessonTitle
from veriformer.lessons.exercises import exercises, lesson_titles
from veriformer.lessons.feedback import WIDTH
from veriformer.lessons.progress import FILE, Progress

_ID_WIDTH = 29


def course_lines(progress: Progress, width: int = WIDTH) -> Lines:
    """Return the lessons with their exercises, and what to do next."""
    lines: Lines = []
    following = _next(progress)
    for number, lesson in enumerate(lesson_titles().values(), 1):
        lines += [heading(f"{number}. {lesson.title}").append(f"   {lesson.id}", style="not bold dim")]
        lines += [_exercise(one, progress, following) for one in _of(lesson)]
    return [*lines, blank(), *_closing(progress, following, width)]


def _of(lesson: LessonTitle) -> list[Exercise]:
    return [exercise for exercise in exercises().values() if exercise.lesson == lesson.id]


def _exercise(exercise: Exercise, progress: Progress, following: Exercise | None) -> Text:
    if progress.is_done(exercise):
        line = Text("   ✓ ", style="green")
    else:
        line = Text("   → " if exercise is following else "   · ", style="bold" if exercise is following else "dim")
    line.append(exercise.id.ljust(_ID_WIDTH), style="default").append(exercise.title, style="dim")
    return line


def _next(progress: Progress) -> Exercise | None:
    """Return the first exercise that is not done; those before it come first."""
    return next((one for one in exercises().values() if not progress.is_done(one)), None)


def _closing(progress: Progress, following: Exercise | None, width: int) -> Lines:
    done = sum(progress.is_done(one) for one in exercises().values())
    place = "this folder" if progress.folder == Path() else str(progress.folder)
    lines = paragraph(f"{done} of {counted(len(exercises()), 'exercise')} done in {place}.", width)
    if progress.unreadable:
        lines += paragraph(f"{FILE} there cannot be read; delete it and check again.", width)
    if following is None:
        return lines
    folder = progress.folder
    if not (folder / following.file_name).exists():
        return [*lines, *paragraph("To begin:  veriformer learn new DIR", width)]
    return [*lines, *paragraph(f"Next: {folder / following.file_name}", width)]
