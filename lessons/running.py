"""Running a lesson: its blocks in order, in one namespace, with what they print and draw."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from veriformer.lessons.course import Lesson, Part, UnusableLesson

if TYPE_CHECKING:
    from veriformer.pictures.model import Picture


@dataclass(frozen=True)
class Shown:
    """A part of a lesson that has run: what it printed, and the picture that its last expression is."""

    part: Part
    printed: str = ""
    picture: Picture | None = None


def run(lesson: Lesson) -> Iterator[Shown]:
    """Yield the parts of a lesson as they run; UnusableLesson with lesson, block and line where one raises."""
    namespace: dict[str, Any] = {"__name__": f"lesson_{lesson.id}"}
    number = 0
    for part in lesson.parts:
        if not part.runs:
            yield Shown(part)
            continue
        number += 1
        name, printed = f"<{lesson.id}, block {number}>", io.StringIO()
        try:
            with redirect_stdout(printed):
                value = _executed(part.text, namespace, name)
        except Exception as error:
            raise UnusableLesson(_place(error, part, f"{lesson.id}: block {number}", name)) from error
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


def _place(error: Exception, part: Part, block: str, name: str) -> str:
    """Return what was raised and where, with the line of code; a block whose function fails later is not meant."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == name]
    number = lines[-1] if lines else getattr(error, "lineno", None) or 1
    code = part.text.splitlines()[number - 1 : number]
    return f"{block}, line {number} raises {type(error).__name__}: {error}" + "".join(f"\n    {one}" for one in code)


def _picture(value: object) -> Picture | None:
    from typing import get_args

    from veriformer.pictures.model import Picture

    return value if isinstance(value, get_args(Picture)) else None
