"""The lessons: Markdown files with blocks that run. `course/README.md` says how one is written."""

from __future__ import annotations

import ast
import io
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from veriformer.lessons.exercises import exercises, lesson_titles

if TYPE_CHECKING:
    from veriformer.pictures.model import Picture

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


@dataclass(frozen=True)
class Shown:
    """A part of a lesson that has run: what it printed, and the picture that its last expression is."""

    part: Part
    printed: str = ""
    picture: Picture | None = None


@cache
def course() -> Mapping[str, Lesson]:
    """Return every lesson whose text is there, by its id, in the order of the files; UnusableLesson."""
    folder = resources.files(__package__).joinpath("course")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".md") and file.name != "README.md")
    lessons = [read_lesson(folder.joinpath(name).read_text(encoding="utf-8"), name) for name in names]
    return MappingProxyType({lesson.id: lesson for lesson in lessons})


def lesson_called(identifier: str) -> Lesson:
    """Return a lesson; UnknownLesson where there is no text of that id."""
    if identifier in course():
        return course()[identifier]
    if identifier in lesson_titles():
        raise UnknownLesson(f"the lesson {identifier} is in the course, and its text is not written yet")
    from veriformer.adapters.spelling import suggestion

    hint = suggestion(identifier, lesson_titles(), cutoff=0.5)
    raise UnknownLesson(f"there is no lesson {identifier!r}{hint} (veriformer learn lists them)")


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


def run(lesson: Lesson) -> Iterator[Shown]:
    """Yield the parts of a lesson as they run, in one namespace; UnusableLesson where a block raises."""
    namespace: dict[str, Any] = {"__name__": f"lesson_{lesson.id}"}
    for number, part in enumerate(lesson.parts):
        if not part.runs:
            yield Shown(part)
            continue
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                value = _executed(part.text, namespace, f"<{lesson.id}, part {number}>")
        except Exception as error:
            raise UnusableLesson(f"{lesson.id}: a block raises {type(error).__name__}: {error}\n{part.text}") from error
        yield Shown(part, printed.getvalue(), _picture(value))


def _executed(code: str, namespace: dict[str, Any], name: str) -> object:
    """Run a block of ours and return the value of its last statement, None where that is no expression."""
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, name, "exec"), namespace)
        return None
    tree.body.pop()
    exec(compile(tree, name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def _picture(value: object) -> Picture | None:
    from typing import get_args

    from veriformer.pictures.model import Picture

    return value if isinstance(value, get_args(Picture)) else None


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
