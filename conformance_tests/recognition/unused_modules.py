"""Parameters without effect, in few words: modules that have no effect as a whole stand for theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def by_module(unused: Sequence[str], parameters: Iterable[str]) -> tuple[str, ...]:
    """Return parameters without effect, those of a module that has none by the module.

    What has an effect in other layers, as an expert to which no token was sent, comes last.
    """
    names, without = tuple(parameters), set(unused)
    whole = [_outermost(name, names, without) for name in unused]
    used = {_pattern(name) for name in names if name not in without}
    some = {module for name, module in zip(unused, whole, strict=True) if _pattern(name) in used}
    return tuple(sorted(dict.fromkeys(whole), key=some.__contains__))


def _outermost(name: str, names: Sequence[str], without: set[str]) -> str:
    """Return the outermost module of several parameters, none of which has an effect; the name itself if there is none.

    A module of the model itself is no more than a part of it.
    """
    pieces = name.split(".")
    for end in range(1, len(pieces)):
        module = ".".join(pieces[:end])
        inside = [one for one in names if one.startswith(f"{module}.")]
        if len(inside) > 1 and without.issuperset(inside):
            return module
    return name


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "#", name)
