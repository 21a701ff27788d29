"""What the two sides of a comparison are called, so that a reader can tell them apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from veriformer.adapters.implementation import Implementation

Names = tuple[str, str]


def told_apart(names: Names, targets: tuple[object, object]) -> Names:
    """Return the names of two sides; where these are the same, by what tells their objects apart.

    That is the class or function that they stand in, else the module, the file, or the line; where it is nothing, one
    is the first and the other the second.
    """
    # What a command names twice is the same thing.
    named = [isinstance(target, str | Implementation) for target in targets]
    if names[0] != names[1] or all(named):
        return names
    first, second = map(_definition, targets)
    for way in _WAYS if not any(named) else ():
        both = way(first), way(second)
        if all(both) and both[0] != both[1]:
            return both
    return "the first", "the second"


def shortened(names: Names, longest: int) -> Names:
    """Return two names with their ends alone where they are too long; the ends still differ where the names do."""
    first, second = (_end_of(name, longest) for name in names)
    if first != second or names[0] == names[1]:
        return first, second
    begins = _common_beginning(names)
    return _both_ends(names[0], begins, longest), _both_ends(names[1], begins, longest)


def defined_at(target: object) -> str:
    """Return where a function or the class of an object stands, such as "my_attention.py:6"; empty if in no file."""
    place = _place(_definition(target))
    return "" if place is None or not place[1] else f"{place[0]}:{place[1]}"


def _end_of(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"…{name[1 - longest :]}"


def _both_ends(name: str, begins: int, longest: int) -> str:
    """Return a name from where it differs from another one, and its end."""
    rest, half = name[begins:], (longest - 1) // 2
    beginning = "…" if begins else ""
    return f"{beginning}{rest}" if len(rest) < longest else f"{beginning}{rest[: half - 1]}…{rest[-half:]}"


def _common_beginning(names: Names) -> int:
    """Return the length of the folders or modules that two names begin with alike."""
    pairs = enumerate(zip(*names, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(map(len, names)))
    return max((names[0].rfind(mark, 0, same) + 1 for mark in "/\\."), default=0)


def _definition(target: object) -> Any:
    """Return what has a definition: the function of a partial one or of a pair, the class of an object."""
    while isinstance(target, partial) or (isinstance(target, tuple | list) and target):
        target = target.func if isinstance(target, partial) else target[0]
    target = inspect.unwrap(target) if callable(target) else target
    return target if inspect.ismodule(target) or hasattr(target, "__qualname__") else type(target)


def _qualified(found: Any) -> str:
    name = getattr(found, "__qualname__", "") or getattr(found, "__name__", "")
    return str(name).replace(".<locals>", "")


def _in_module(found: Any) -> str:
    module = getattr(found, "__module__", None)
    return "" if module in (None, "builtins") else f"{module}.{_qualified(found)}"


def _in_file(found: Any) -> str:
    place = _place(found)
    if place is None:
        return ""
    return place[0] if inspect.ismodule(found) else f"{place[0]}:{_qualified(found)}"


def _on_line(found: Any) -> str:
    place = _place(found)
    return "" if place is None or inspect.ismodule(found) else f"{place[0]}:{place[1]}:{_qualified(found)}"


_WAYS: tuple[Callable[[Any], str], ...] = (_qualified, _in_module, _in_file, _on_line)


def _place(found: Any) -> tuple[str, int] | None:
    """Return the file of an object, as seen from here, and its line; None where it has no file."""
    try:
        file = inspect.getsourcefile(found)
        line = 0 if inspect.ismodule(found) else inspect.getsourcelines(found)[1]
    except (OSError, TypeError):
        return None
    return None if file is None else (_from_here(file), line)


def _from_here(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
