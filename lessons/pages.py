"""The lessons as pages of the documentation: Markdown with what the blocks print, and pictures as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veriformer.lessons.course import Lesson, course
from veriformer.lessons.exercises import exercises
from veriformer.lessons.running import Shown, run

FOLDER = "learn"
_INDEX = """\
# The course

{lessons} lessons, each with blocks that run, and {exercises} exercises that laws grade. `veriformer learn lesson ID`
shows a lesson in a terminal, `veriformer learn notebooks DIR` writes all of them as notebooks, and
`veriformer learn new DIR` writes the exercises.

| | lesson | exercises |
| --- | --- | --- |
{rows}

```{{toctree}}
:hidden:

{files}
```
"""
_ISSUE = re.compile(r"`([\w.-]+/[\w.-]+)#(\d+)`")


def lesson_pages() -> dict[str, str]:
    """Return the page of every lesson and one that lists them, by path; runs every block."""
    lessons = list(course().values())
    pages = {_path(number, lesson): lesson_page(lesson) for number, lesson in enumerate(lessons, 1)}
    return {f"{FOLDER}/index.md": _index(lessons), **pages}


def lesson_page(lesson: Lesson) -> str:
    """Return a lesson as Markdown that a site renders."""
    return "\n".join(block for shown in run(lesson) for block in _blocks(shown))


def _blocks(shown: Shown) -> Iterator[str]:
    part = shown.part
    if not part.info:
        yield _ISSUE.sub(r"[\1#\2](https://github.com/\1/issues/\2)", part.text)
        return
    yield _fenced(part.info.split()[0], part.text)
    if shown.printed:
        yield _fenced("text", shown.printed)
    if shown.picture is not None:
        from veriformer.pictures.html import fragment

        # An empty line would end the HTML block.
        yield re.sub(r"\n\s*\n+", "\n", f"<div>\n{str(fragment(shown.picture)).strip()}\n</div>\n")


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _index(lessons: list[Lesson]) -> str:
    files = [_file(number, lesson) for number, lesson in enumerate(lessons, 1)]
    rows = [
        f"| {number} | [{lesson.title}]({file}) | {', '.join(f'`{one}`' for one in lesson.exercises)} |"
        for number, (lesson, file) in enumerate(zip(lessons, files, strict=True), 1)
    ]
    return _INDEX.format(lessons=len(lessons), exercises=len(exercises()), rows="\n".join(rows), files="\n".join(files))


def _path(number: int, lesson: Lesson) -> str:
    return f"{FOLDER}/{_file(number, lesson)}"


def _file(number: int, lesson: Lesson) -> str:
    return f"{number:02}_{lesson.id}.md"
