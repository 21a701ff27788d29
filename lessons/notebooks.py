"""Lessons as notebooks, in the format of Jupyter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from veriformer.lessons.course import Lesson, Part, course

_FIRST = """\
# Run this first: it makes the pictures appear below their blocks.
from veriformer.lessons.notebook_pictures import show_pictures

show_pictures()
"""


def write_notebooks(folder: Path) -> list[Path]:
    """Write every lesson as a notebook into a folder and return the paths; those that were there are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{number:02}_{lesson.id}.ipynb" for number, lesson in enumerate(course().values(), 1)]
    for path, lesson in zip(written, course().values(), strict=True):
        path.write_text(notebook(lesson), encoding="utf-8")
    return written


def notebook(lesson: Lesson) -> str:
    """Return a lesson as the text of a notebook without outputs."""
    cells = [_cell(number, part) for number, part in enumerate(lesson.parts, 1)]
    if any(part.runs for part in lesson.parts):
        cells.insert(0, _cell(0, Part(_FIRST, "python")))
    whole: dict[str, Any] = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, part: Part) -> dict[str, Any]:
    common = {"id": f"part-{number}", "metadata": {}}
    if part.runs:
        return {**common, "cell_type": "code", "execution_count": None, "outputs": [], "source": _lines(part.text)}
    return {**common, "cell_type": "markdown", "source": _lines(_as_markdown(part))}


def _as_markdown(part: Part) -> str:
    return f"```{part.info}\n{part.text}```" if part.info else part.text


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").splitlines(keepends=True)
