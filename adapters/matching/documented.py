"""What the documentation of a function or class says of the axes that it takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_OUTER = frozenset("b batch batchsize bs n t time l len length seq seqlen sequence s tokens positions".split())  # noqa: SIM905
_LAST = frozenset("c d e channels channel features feature dim dmodel hidden hiddensize embed embeddim width".split())  # noqa: SIM905
_FEWEST = 3


def says_three_axes(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that vectors come in samples and positions: "(batch, time, channels)"."""
    documented = inspect.getdoc(getattr(function, "__wrapped__", function)) or ""
    return any(_is_of_vectors(inside) for inside in re.findall(r"[(\[]([^()\[\]]*)[)\]]", documented))


def _is_of_vectors(inside: str) -> bool:
    names = [name.strip().replace("_", "").casefold() for name in inside.split(",")]
    return len(names) >= _FEWEST and names[-1] in _LAST and all(name in _OUTER for name in names[:-1])
