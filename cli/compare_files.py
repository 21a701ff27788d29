"""Two files of `veriformer compare` that have models in place of operations, or beside them."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.cli.failures import UserError
from veriformer.conformance_tests.core.text import first_few

if TYPE_CHECKING:
    from veriformer.adapters.errors import NoOperations
    from veriformer.conformance_tests.comparison.comparison import Comparison

Both = tuple[str, str]
_MOST_NAMES = 5
# What files of models and of their weights are called; a name with another one is an import path.
_SUFFIXES = (".py", ".onnx", ".pt", ".pth", ".bin", ".safetensors", ".npz", ".keras", ".h5", ".gguf")


def models_meant(both: Both, none: NoOperations) -> tuple[Both, tuple[str, ...]]:
    """Return the model that is meant of each file, by name, and a notice about each file that has others.

    It is the only one of a file, else `build`, else the only one whose name the other file has too. UserError with the
    commands that name one where there are several, or where a file has none.
    """
    found = _tops_in(both[0]), _tops_in(both[1])
    chosen = _chosen(*found)
    if chosen is None:
        raise UserError("\n  ".join([_why_none(both, found, none), *_commands(both, found)]), none) from none
    notices = [
        notice
        for number, source in enumerate(both)
        if (notice := _about_others(both, number, chosen, [one for one in found[number] if one != chosen[number]]))
    ]
    return (f"{both[0]}:{chosen[0]}", f"{both[1]}:{chosen[1]}"), tuple(notices)


def _chosen(first: Sequence[str], second: Sequence[str]) -> Both | None:
    """Return the name that is meant of each file; None where that cannot be told."""
    common = [name for name in first if name in second]
    alone = _only(first), _only(second)
    if not all(alone) and len(common) == 1:
        return common[0], common[0]
    return (alone[0], alone[1]) if alone[0] and alone[1] else None


def _only(names: Sequence[str]) -> str:
    """Return the only name, or `build` among several; empty where none is meant."""
    return names[0] if len(names) == 1 else "build" if "build" in names else ""


def _about_others(both: Both, number: int, chosen: Both, others: Sequence[str]) -> str:
    """Return which model of a file was taken, why, and how another one is compared; empty where there is no other."""
    if not others:
        return ""
    name, its = both[number], chosen[number]
    why = "a function of this name builds the model" if its == "build" else "both files have it"
    instead = [f"{source}:{one}" for source, one in zip(both, chosen, strict=True)]
    instead[number] = f"{name}:{others[0]}"
    listed = first_few(list(others), _MOST_NAMES)
    return f"{name}: {its} is compared, since {why}, and not {listed}: {_command(instead[0], instead[1])} does that"


def _why_none(both: Both, found: tuple[list[str], list[str]], none: NoOperations) -> str:
    """Return that no model is meant, and which each file has."""
    without = [source for source, names in zip(both, found, strict=True) if not names]
    if len(without) == 1:
        # The other one has models: what it lacks is no reason.
        return _nothing_in(without[0])
    if without:
        return str(none)
    said = dict.fromkeys(f"{one} has {first_few(names, _MOST_NAMES)}" for one, names in zip(both, found, strict=True))
    return f"models are compared by their names, and it is not clear which are meant: {'; '.join(said)}; name them:"


def _nothing_in(source: str) -> str:
    """Return why a source has nothing that a model is compared with."""
    path = Path(source)
    if path.is_dir():
        return f"{source} is a folder; name a .py file in it"
    if path.suffix in _SUFFIXES and not path.exists():
        return f"there is no file {source}; check the path, seen from {Path.cwd()}"
    return f"{source} has neither operations nor a model: a class with a forward pass, or a function `build`"


def _commands(both: Both, found: tuple[list[str], list[str]]) -> list[str]:
    """Return the commands that compare a model of one file with one of the other: those of a common name, if any."""
    common = [(name, name) for name in found[0] if name in found[1]]
    pairs = common or [(one, other) for one in found[0] for other in found[1]]
    return [_command(f"{both[0]}:{one}", f"{both[1]}:{other}") for one, other in pairs[:_MOST_NAMES]]


def _command(first: str, second: str) -> str:
    return shlex.join(["veriformer", "compare", first, second])


def with_classes_named(comparison: Comparison, both: Both) -> Comparison:
    """Return the comparison with a notice about the classes of a file, which are compared by their names."""
    notices = dict.fromkeys((*comparison.notices, *_about_classes(both)))
    return replace(comparison, notices=tuple(notices))


def _about_classes(both: Both) -> Iterator[str]:
    here, there = map(_classes_in, both)
    for source, names in zip(both, (here, there), strict=True):
        if names:
            yield f"{source}: not compared: {', '.join(names)} (a class is compared by its name)"
    name = next((one for one in here if one in there), None)
    if name is not None:
        yield f"to compare {name}: {_command(f'{both[0]}:{name}', f'{both[1]}:{name}')}"


def _classes_in(source: str) -> list[str]:
    """Return the classes of a file with a forward pass, those that stand alone if there are any."""
    if not source.endswith(".py"):
        return []
    from veriformer.adapters.matching.classes import classes_in

    alone, parts = classes_in(source)
    return alone or parts


def _tops_in(source: str) -> list[str]:
    """Return `build` of a file, and its classes and functions that are no part of it or of another model."""
    names = _classes_in(source)
    return ["build", *(one for one in names if one != "build")] if _has_build(source) else names


def _has_build(source: str) -> bool:
    """Return whether a file has a function `build`, told by its text."""
    if not source.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(one, ast.FunctionDef) and one.name == "build" for one in tree.body)
