"""What the text of a function or class says: its documentation, and its source."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from veriformer.adapters.matching.names import words_of

_OUTER = frozenset("b batch batchsize bs n t time l len length seq seqlen sequence s tokens positions".split())  # noqa: SIM905
_LAST = frozenset("c d e channels channel features feature dim dmodel hidden hiddensize embed embeddim width".split())  # noqa: SIM905
_FEWEST = 3
_CAUSAL = frozenset({"causal", "autoregressive"})
_PERHAPS = frozenset("non not no if or unless optional optionally whether either when can may unlike".split())  # noqa: SIM905


def source_of(function: Callable[..., Any]) -> str | None:
    """Return the source of a function; None where it cannot be had."""
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return None


def tree_of(function: Callable[..., Any]) -> ast.Module | None:
    """Return the syntax tree of a function's source; None where it cannot be had."""
    try:
        return ast.parse(textwrap.dedent(source_of(function) or ""))
    except (SyntaxError, ValueError):
        return None


def says_causal(function: Callable[..., Any]) -> bool:
    """Return whether the documentation of a function says plainly that it is causal."""
    sentences = re.split(r"[.:;\n]", inspect.getdoc(function) or "")
    words = [set(words_of(one)) for one in sentences]
    return any(_CAUSAL & one and not _PERHAPS & one for one in words) and not any(
        _CAUSAL & one and _PERHAPS & one for one in words
    )


def says_power_of_two(function: Callable[..., Any]) -> bool:
    """Return whether the documentation of a function says that the number of heads is a power of two."""
    return bool(re.search(r"powers?[ -]of[ -](two|2)\b", inspect.getdoc(function) or "", re.IGNORECASE))


def says_three_axes(function: Callable[..., Any]) -> bool:
    """Return whether documentation says that vectors come in samples and positions: "(batch, time, channels)"."""
    documented = inspect.getdoc(getattr(function, "__wrapped__", function)) or ""
    return any(_is_of_vectors(inside) for inside in re.findall(r"[(\[]([^()\[\]]*)[)\]]", documented))


def _is_of_vectors(inside: str) -> bool:
    names = [name.strip().replace("_", "").casefold() for name in inside.split(",")]
    return len(names) >= _FEWEST and names[-1] in _LAST and all(name in _OUTER for name in names[:-1])
