"""The course: lessons that run, exercises that laws grade, questions that make a learner find the mistake.

`check_exercise(answer, "softmax")` returns an `Outcome`, which a notebook draws; `grade(answer, "softmax")` raises
AssertionError with the same feedback, as one cell of otter or nbgrader does. Both take a function, a class, an object
or a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veriformer.lessons.checking import check_exercise
    from veriformer.lessons.notebook_cells import grade
    from veriformer.lessons.outcome import Outcome

__all__ = ["Outcome", "check_exercise", "grade"]

_HOMES = {"Outcome": "outcome", "check_exercise": "checking", "grade": "notebook_cells"}


def __getattr__(name: str) -> Any:
    # The list of exercises is shown without the laws, which take longer to import than it takes to print.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
