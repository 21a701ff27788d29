"""Two files of `veriformer compare` that have models in place of operations, or beside them."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.cli.failures import UserError

if TYPE_CHECKING:
    from veriformer.adapters.errors import NoOperations
    from veriformer.conformance_tests.comparison.comparison import Comparison

Both = tuple[str, str]
_MOST_NAMES = 5


def models_meant(both: Both, none: NoOperations) -> Both:
    """Return the one model of each file, by name: its `build`, else its only class that is no part of another.

    UserError with the names in each file where there are several, or where a file has none.
    """
    found = [_models_in(source) for source in both]
    if all(len(names) == 1 for names in found):
        return f"{both[0]}:{found[0][0]}", f"{both[1]}:{found[1][0]}"
    listed = [_listed(source, names) for source, names in zip(both, found, strict=True) if names]
    raise UserError("; ".join([str(none), *dict.fromkeys(listed)]), none) from none


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
        yield f"to compare {name}: {shlex.join(['veriformer', 'compare', *(f'{source}:{name}' for source in both)])}"


def _classes_in(source: str) -> list[str]:
    """Return the classes of a file with a forward pass, those that stand alone if there are any."""
    if not source.endswith(".py"):
        return []
    from veriformer.adapters.matching.classes import classes_in

    alone, parts = classes_in(source)
    return alone or parts


def _models_in(source: str) -> list[str]:
    return ["build"] if _has_build(source) else _classes_in(source)


def _has_build(source: str) -> bool:
    """Return whether a file has a function `build`, told by its text."""
    if not source.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(one, ast.FunctionDef) and one.name == "build" for one in tree.body)


def _listed(source: str, names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"models are compared by their names: {', '.join(f'{source}:{one}' for one in names[:_MOST_NAMES])}{more}"
