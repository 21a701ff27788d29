"""Inputs that are tried one after another until a model takes them, and what is said where it takes none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from veriformer.adapters.capture.inputs import Candidate, arguments_of
from veriformer.adapters.capture.widths import of_wanted_width
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.import_errors import location

HAND_OVER = (
    "write a function `inputs()` in its file, or give `inputs=` in Python: the model's inputs, as a tuple of arrays or "
    "a dictionary of them by argument"
)
Result = TypeVar("Result")
_MOST_LISTED = 6
_MOST_ADJUSTED = 24


class NoInputsFit(LoadError):
    """No inputs that were guessed run; the message has each of them with what the model raised."""


def first_that_runs(candidates: Iterable[Candidate], run: Callable[[Candidate], Result]) -> tuple[Candidate, Result]:
    """Return the first candidate that `run` takes, with what it returned; NoInputsFit where none does.

    Where none does, vectors of the widths that the exceptions ask for are tried.
    """
    raised: list[tuple[str, str]] = []
    adjusted: dict[str, Candidate] = {}
    for candidate in chain(candidates, _each_as_it_comes(adjusted)):
        try:
            return candidate, run(candidate)
        except MemoryError:
            raise
        except Exception as error:
            raised.append((candidate.description, f"{describe(error)}{location(error)}"))
            for one in _of_wanted_width(candidate, str(error)):
                adjusted.setdefault(one.description, one)
    raise NoInputsFit(_none_fits(raised))


def _each_as_it_comes(waiting: Mapping[str, Candidate]) -> Iterator[Candidate]:
    """Yield what waits, and what is added meanwhile, up to a number."""
    tried: set[str] = set()
    while len(tried) < _MOST_ADJUSTED:
        one = next((one for name, one in waiting.items() if name not in tried), None)
        if one is None:
            return
        tried.add(one.description)
        yield one


def _of_wanted_width(candidate: Candidate, message: str) -> Iterator[Candidate]:
    array = candidate.arguments[0] if len(candidate.arguments) == 1 else None
    if isinstance(array, np.ndarray):
        for vectors in of_wanted_width(array, message):
            yield replace(candidate, description=f"floats {vectors.shape}", arguments=(vectors,))


def _none_fits(raised: Sequence[tuple[str, str]]) -> str:
    """Return what to do where no inputs fit; `raised` are the inputs that were tried, each with its exception."""
    exceptions = dict.fromkeys(exception for _, exception in raised)
    if len(raised) > 1 and len(exceptions) == 1:
        return (
            f"the model raised {next(iter(exceptions))} on each of the {len(raised)} inputs that were tried, such as "
            f"{raised[0][0]}; if it needs others, {HAND_OVER}"
        )
    lines = [f"{description}: {exception}" for description, exception in raised]
    if len(lines) > _MOST_LISTED:
        lines[_MOST_LISTED:] = [f"and {len(lines) - _MOST_LISTED} others"]
    tried = "".join(f"\n  {line}" for line in lines)
    return f"the model runs on none of the inputs that were tried; {HAND_OVER}. Tried:{tried}"


def inputs_example(called: Callable[..., Any] | None, first_input: int = 0) -> str:
    """Return two lines of a function `inputs` with the arguments that a model must be given; empty if none is known."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [one for one in arguments_of(called)[first_input:] if one.kind in by_name]
    names = [one.name for one in known if one.default is one.empty] or [one.name for one in known[:1]]
    if not names:
        return ""
    values = ", ".join(f'"{name}": ...' for name in names)
    return f"\nFor example, with an array for each ...:\n  def inputs():\n      return {{{values}}}"
