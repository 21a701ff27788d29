"""The lessons as they are written: Markdown files with blocks that run. `course/README.md` says how."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from veriformer.lessons.exercises import exercises, lesson_titles

_FRONT, _END = "<!--", "-->"
_LISTS = ("exercises", "derivations", "mistakes")


class UnusableLesson(ValueError):
    """A lesson is not written as it should be; the message names the file and the reason."""


class UnknownLesson(ValueError):
    """No lesson has the requested id; the message names the closest one."""


@dataclass(frozen=True)
class Part:
    """A part of a lesson: text in Markdown, or a block of Python that runs, or one that is only shown (`info`)."""

    text: str
    info: str = ""

    @property
    def runs(self) -> bool:
        """Whether it is a block that runs."""
        return self.info.split()[:1] == ["python"]


@dataclass(frozen=True)
class Lesson:
    """One lesson: what its front matter says, and its parts in order."""

    id: str
    title: str
    exercises: tuple[str, ...]
    derivations: tuple[str, ...]
    mistakes: tuple[str, ...]
    parts: tuple[Part, ...]


@cache
def course() -> Mapping[str, Lesson]:
    """Return every lesson whose text is there, by its id, in the order of the files; UnusableLesson."""
    folder = resources.files(__package__).joinpath("course")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".md") and file.name != "README.md")
    lessons = [read_lesson(folder.joinpath(name).read_text(encoding="utf-8"), name) for name in names]
    return MappingProxyType({lesson.id: lesson for lesson in lessons})


def lesson_called(identifier: str) -> Lesson:
    """Return a lesson by its id or its number in the course; UnknownLesson where there is no text of it."""
    if identifier.isdecimal():
        identifier = _numbered(int(identifier))
    if identifier in course():
        return course()[identifier]
    if identifier in lesson_titles():
        raise UnknownLesson(f"the lesson {identifier} is in the course, and its text is not written yet")
    from veriformer.adapters.spelling import suggestion

    hint = suggestion(identifier, lesson_titles(), cutoff=0.5)
    raise UnknownLesson(f"there is no lesson {identifier!r}{hint} (veriformer learn lists them)")


def _numbered(number: int) -> str:
    """Return the id of the lesson of a number, counted from one."""
    titles = list(lesson_titles())
    if not 1 <= number <= len(titles):
        raise UnknownLesson(f"the lessons are numbered from 1 to {len(titles)}; there is no {number}")
    return titles[number - 1]


def read_lesson(text: str, name: str) -> Lesson:
    """Return the lesson in a text; UnusableLesson where it is not written as it should be."""
    head, end, body = text.removeprefix(_FRONT).partition(_END)
    if not text.startswith(_FRONT) or not end:
        raise UnusableLesson(f"{name} does not begin with {_FRONT}, front matter and {_END}; see course/README.md")
    try:
        front = tomllib.loads(head)
    except tomllib.TOMLDecodeError as error:
        raise UnusableLesson(f"{name}: its front matter is not TOML: {error}") from error
    _refuse_unknown(front, name)
    lists = {key: tuple(front[key]) for key in _LISTS}
    return Lesson(front["id"], front["title"], **lists, parts=tuple(_parts(body.lstrip("\n"))))


def _parts(body: str) -> Iterator[Part]:
    """Yield the text of a lesson and its fenced blocks, in order."""
    from markdown_it import MarkdownIt

    lines, at = body.splitlines(keepends=True), 0
    for token in MarkdownIt().parse(body):
        if token.type != "fence" or token.map is None or token.level:
            continue
        begin, end = token.map
        yield from _text(lines[at:begin])
        yield Part(token.content, token.info.strip() or "text")
        at = end
    yield from _text(lines[at:])


def _text(lines: list[str]) -> Iterator[Part]:
    text = "".join(lines).strip("\n")
    if text:
        yield Part(f"{text}\n")


def _refuse_unknown(front: dict[str, Any], name: str) -> None:
    from veriformer.conformance_tests.mistakes import catalogue
    from veriformer.spec.derivations import derivation_ids

    missing = [key for key in ("id", "title", *_LISTS) if key not in front]
    if missing:
        raise UnusableLesson(f"{name}: its front matter has no {missing[0]}")
    if front["id"] not in lesson_titles():
        raise UnusableLesson(f"{name}: {front['id']} is no lesson of exercises.toml")
    known = {"exercises": exercises(), "derivations": derivation_ids(), "mistakes": catalogue()}
    for key, names in known.items():
        unknown = [one for one in front[key] if one not in names]
        if unknown:
            raise UnusableLesson(f"{name}: {unknown[0]} is none of the {key}")
    own = [exercise.id for exercise in exercises().values() if exercise.lesson == front["id"]]
    if sorted(front["exercises"]) != sorted(own):
        raise UnusableLesson(f"{name}: its exercises are {', '.join(own) or 'none'} in exercises.toml")
