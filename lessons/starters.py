"""The files that a learner begins with: a signature, the formula, and nothing else."""

from __future__ import annotations

import inspect
import shlex
import textwrap
from importlib import resources
from pathlib import Path
from typing import Literal

from veriformer.lessons.asked import ROW, Asked, sheet
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import exercises
from veriformer.spec.operations import OPERATIONS, Parameter

Framework = Literal["numpy", "torch", "jax"]
FRAMEWORKS: tuple[Framework, ...] = ("numpy", "torch", "jax")
_IMPORTS = {
    "numpy": "import numpy as np",
    "torch": 'import torch\nfrom torch import nn\n\nframework = "torch"',
    "jax": 'import jax\nimport jax.numpy as jnp\n\nframework = "jax"',
}
_WIDTH = 110


def write_starters(folder: Path, framework: Framework) -> tuple[list[str], list[str]]:
    """Write a file for each exercise and return the names of those written, and of those that were there already.

    Nothing is overwritten. OSError where the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, kept = [], []
    for exercise in exercises().values():
        path = folder / exercise.file_name
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(starter(exercise, framework, folder))
            written.append(path.name)
        except FileExistsError:
            kept.append(path.name)
    return written, kept


def starter(exercise: Exercise, framework: Framework, folder: Path = Path()) -> str:
    """Return the text of an exercise's file; `folder` is what its folder is called from where the student stands."""
    if exercise.kind == "answers":
        return _sheet_text(exercise, folder)
    return _program_text(exercise, framework, folder)


def _to_check(exercise: Exercise, folder: Path) -> str:
    """Return the command that checks an exercise, from where its folder was written and from inside."""
    inside = "" if folder == Path() else "   (inside the folder: . in its place)"
    return f"veriformer learn check {shlex.quote(str(folder))} {exercise.id}{inside}"


def _program_text(exercise: Exercise, framework: Framework, folder: Path) -> str:
    parts = [_docstring(exercise, folder), _IMPORTS[framework] + _declared(exercise), "", _body(exercise, framework)]
    return "\n".join(part.rstrip("\n") if part else "" for part in parts).replace("\n\n\n\n", "\n\n\n") + "\n"


def _declared(exercise: Exercise) -> str:
    return f"\n{exercise.declares.rstrip()}" if exercise.declares else ""


def _body(exercise: Exercise, framework: Framework) -> str:
    if framework == "torch" and exercise.class_name:
        return "\n" + resources.files(__package__).joinpath("modules", f"{exercise.id}.txt").read_text(encoding="utf-8")
    head = f"def {exercise.operation}({_parameters(exercise)}):"
    if len(head) > _WIDTH:
        head = f"def {exercise.operation}(\n    {_parameters(exercise)}\n):"
    return f"\n{head}\n    raise NotImplementedError\n"


def _parameters(exercise: Exercise) -> str:
    operation = OPERATIONS[exercise.operation]
    keywords = [one.name for one in operation.parameters if one.requirement == "keyword"]
    wanted = [f"{name}={_default(exercise, name)}" for name in operation.features if name in exercise.keywords]
    by_name = [*keywords, *wanted]
    return ", ".join([*operation.positional, *(["*", *by_name] if by_name else [])])


def _default(exercise: Exercise, name: str) -> str:
    """Return the default of a keyword as the reference has it."""
    from veriformer import reference

    return repr(inspect.signature(getattr(reference, exercise.operation)).parameters[name].default).replace("'", '"')


def _docstring(exercise: Exercise, folder: Path) -> str:
    operation = OPERATIONS[exercise.operation]
    shown = [one for one in operation.parameters if one.requirement != "feature" or one.name in exercise.keywords]
    rows = [(one.name, _shape(one), one.meaning) for one in shown] + [("result", operation.result, "")]
    lines = [f'"""{exercise.title}.', "", *_wrapped(operation.summary), ""]
    lines += [f"    {line}" for line in textwrap.wrap(exercise.formula or operation.formula, _WIDTH - 4)]
    lines += ["", *_table(rows), ""]
    first = [exercises()[name].title for name in exercise.after]
    lines += [f"Do this first: {', '.join(first)}.", ""] if first else []
    return "\n".join([*lines, f"To check it:  {_to_check(exercise, folder)}", '"""', "", "\n"])


def _shape(parameter: Parameter) -> str:
    return parameter.shape if parameter.kind != "bool" else f"bool {parameter.shape}".strip()


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    """Return rows whose columns begin below each other; long shapes get a line of their own."""
    name = max(len(row[0]) for row in rows) + 2
    lines = []
    for row in rows:
        text = f"{row[1]}   {row[2]}".strip()
        hanging = " " * name
        lines += textwrap.wrap(text or " ", _WIDTH, initial_indent=row[0].ljust(name), subsequent_indent=hanging)
    return [line.rstrip() for line in lines]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)


def _sheet_text(exercise: Exercise, folder: Path) -> str:
    questions = sheet(exercise.id)
    head = [f"# {exercise.title}", *_commented(questions.introduction), "#", "# Write each answer between the quotes."]
    if any(one.is_row for one in questions.questions):
        head.append(f"# A row of numbers has commas between them: {ROW}.")
    head.append(f"# To check them:  {_to_check(exercise, folder)}")
    return "\n".join([*head, *(line for one in questions.questions for line in _question(one))]) + "\n"


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH)]


def _question(question: Asked) -> list[str]:
    options = [f"#   {letter}) {text}" for letter, text in question.lettered.items()]
    return ["", *_commented(question.text), *options, f'{question.id} = ""']
