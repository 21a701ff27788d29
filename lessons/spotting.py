"""Spot the mistake: a wrong program is shown, and an input is wanted on which its result is wrong.

The input is data, a TOML file with the arguments by name. Its numbers are counted: the fewer, the better it shows the
fault. `spot.toml` has the programs, each with the smallest input that is known, found by `benchmarks/spot.py`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.lessons.excerpts import excerpt
from veriformer.lessons.reading import NotBegun, Unclear, read_text
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

_DTYPES = {"float": "float32", "bool": "bool", "int": "int64"}
_MOST_NUMBERS = 10_000
# Beyond what float32 rounds in programs of a few steps.
_CLOSE = {"rtol": 1e-3, "atol": 1e-5}


class UnusableInput(ValueError):
    """An input cannot be tried; the message says what was wrong and what to do."""


@dataclass(frozen=True)
class Puzzle:
    """A wrong program, the operation that it computes, and the smallest input known to show that."""

    mistake: PlantedMistake
    operation: Operation
    smallest: Mapping[str, Any]

    @property
    def program(self) -> str:
        """The part of the program that computes the operation."""
        return excerpt(self.mistake.source_text(), self.operation.name)

    @property
    def template(self) -> str:
        """An input to begin with: every argument, none with a value."""
        lines = [f"# An input of {self.operation.name}: fill in what you need, and leave out the rest."]
        for one in self.operation.parameters:
            given = one.requirement == "feature" or one.kind in ("scalar", "flag")
            lines.append(f"{'# ' if given else ''}{one.name} = {_example(one)}  # {one.shape or one.meaning}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Tried:
    """What an input showed: the right result and the wrong one, a sentence where the program raised, the sizes."""

    shows: bool
    expected: Array
    got: Array | None
    sentence: str
    numbers: int
    fewest: int


@cache
def puzzles() -> tuple[Puzzle, ...]:
    """Return the wrong programs, the easiest first."""
    text = resources.files(__package__).joinpath("spot.toml").read_text(encoding="utf-8")
    by_name = {one.name: one for one in planted()}
    return tuple(
        Puzzle(by_name[one["planted"]], OPERATIONS[one["operation"]], one["smallest"])
        for one in tomllib.loads(text)["puzzle"]
    )


def judged(puzzle: Puzzle, path: Path) -> Tried:
    """Return what the input in a file shows; UnusableInput."""
    try:
        given = tomllib.loads(read_text(path))
    except (NotBegun, Unclear) as error:
        raise UnusableInput(str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise UnusableInput(f"{path} is not TOML: {error}; write arguments such as x = [[1, 2]]") from error
    return tried(puzzle, given)


def tried(puzzle: Puzzle, given: Mapping[str, Any]) -> Tried:
    """Return what arguments show; UnusableInput where the right program does not take them."""
    arguments = arguments_of(puzzle.operation, given)
    expected = _right(puzzle, arguments)
    smallest = arguments_of(puzzle.operation, puzzle.smallest)
    # An operation that takes sizes alone is as large as its result.
    fewest = numbers_in(smallest) or _right(puzzle, smallest).size
    counts = {"numbers": numbers_in(arguments) or expected.size, "fewest": fewest}
    try:
        got = _called(puzzle.mistake.source_text(), puzzle.operation, arguments)
    except Exception as error:
        sentence = f"the program raises {type(error).__name__}: {error}"
        return Tried(True, expected, None, sentence, **counts)
    return Tried(not _agree(expected, got), expected, got, "", **counts)


def arguments_of(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as arrays and numbers of the interface; UnusableInput."""
    unknown = [name for name in given if name not in {one.name for one in operation.parameters}]
    if unknown:
        known = ", ".join(one.name for one in operation.parameters)
        raise UnusableInput(f"{operation.name} has no argument {unknown[0]!r}; it has {known}")
    missing = [one.name for one in operation.parameters if one.requirement != "feature" and one.name not in given]
    if missing:
        raise UnusableInput(f"the input has no {missing[0]}; {operation.name} needs it")
    arguments = {name: _argument(operation.parameter(name), value) for name, value in given.items()}
    if numbers_in(arguments) > _MOST_NUMBERS:
        raise UnusableInput(f"the input has more than {_MOST_NUMBERS:,} numbers; a smaller one shows the fault better")
    return arguments


def numbers_in(arguments: Mapping[str, Any]) -> int:
    """Return how many numbers the arrays of arguments have."""
    return sum(value.size for value in arguments.values() if isinstance(value, np.ndarray))


def _argument(parameter: Parameter, value: Any) -> Any:
    if parameter.kind not in _DTYPES or parameter.name == "window":
        return value
    try:
        return np.array(value, dtype=_DTYPES[parameter.kind])
    except (ValueError, TypeError, OverflowError) as error:
        shape = f" of shape {parameter.shape}" if parameter.shape else ""
        raise UnusableInput(
            f"{parameter.name} is no array{shape}; write rows of one length, such as [[1, 2]]"
        ) from error


def _right(puzzle: Puzzle, arguments: Mapping[str, Any]) -> Array:
    """Return the result of the reference; UnusableInput where it, or the right program, does not take the arguments."""
    from veriformer import reference

    exact = {name: _in_float64(value) for name, value in arguments.items()}
    name = puzzle.operation.name
    try:
        expected = _joined(_by_place(getattr(reference, name), puzzle.operation, exact))
        plain = _called(puzzle.mistake.correct_text(), puzzle.operation, arguments)
    except Exception as error:
        raise UnusableInput(f"a right program does not take this input: {error}") from error
    if not _agree(expected, plain):
        raise UnusableInput("right programs disagree on this input, by rounding or by convention; choose another")
    return expected


def _in_float64(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value


def _called(text: str, operation: Operation, arguments: Mapping[str, Any]) -> Array:
    """Return the result of one of our own programs."""
    module = ModuleType("program")
    exec(compile(text, "program", "exec"), vars(module))
    with np.errstate(all="ignore"):
        return _joined(_by_place(getattr(module, operation.name), operation, arguments))


def _by_place(function: Any, operation: Operation, arguments: Mapping[str, Any]) -> Any:
    by_name = {name: value for name, value in arguments.items() if name not in operation.positional}
    return function(*(arguments[name] for name in operation.positional), **by_name)


def _joined(result: Any) -> Array:
    """Return a result as one array; the parts of a tuple one after the other."""
    if isinstance(result, tuple):
        return np.concatenate([np.ravel(part) for part in result])
    return np.asarray(result)


def _agree(expected: Array, got: Array) -> bool:
    same = expected.shape == got.shape
    return same and bool(np.allclose(expected.astype(float), got.astype(float), equal_nan=True, **_CLOSE))


def _example(parameter: Parameter) -> str:
    if parameter.kind not in _DTYPES:
        return {"flag": "true", "scalar": "1"}.get(parameter.kind, '""')
    axes = max(parameter.shape.partition(" or ")[0].count(",") + 1, 1) if "(" in parameter.shape else 1
    return "[" * axes + "]" * axes
