"""Parameters that a file only documents: a dictionary whose arrays have the shapes that comments and docstrings say.

emb [V, D]    ln1, ln2 [D]    w["q"] (H*hd, d)    "wo": (D, D)
"""

from __future__ import annotations

import ast
import inspect
import io
import math
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.capture.guessed_sizes import LENGTH, size_called
from veriformer.adapters.capture.numpy_models import imported_by

_LETTERS: Mapping[str, int] = {
    **dict.fromkeys(("hd", "Dh", "dh", "dk", "K", "d_h", "D_h"), 6),
    **dict.fromkeys(("G", "Hkv", "H_kv", "KV", "kv"), 2),
    **dict.fromkeys(("L", "S", "T", "P", "max_len", "L_max"), LENGTH),
}
# A model of width 24 has 4 heads of 6.
_OF_HEADS, _WITHIN = 4, 6
_DIMENSION = r"[A-Za-z0-9_*]+(?:\s\*\s[A-Za-z0-9_*]+)*"
_NAME = r"[\w.]*(?:\[[\"'][\w.]+[\"']\])+|[\"'][\w.]+[\"']|\w+"
_SHAPE = re.compile(
    rf"((?:{_NAME})(?:\s*[,/&]\s*(?:{_NAME}))*)\s*[:=]?\s*[\[(]\s*({_DIMENSION}(?:\s*,\s*{_DIMENSION})*)\s*,?\s*[\])]"
)
_SEED = 5


def documented_parameters(function: Any, place: str, home: ModuleType) -> tuple[dict[str, Any], dict[str, int]] | None:
    """Return the dictionary of arrays that a function reads its parameters from, and the sizes that were chosen.

    `place` is the name of the parameter that the dictionary is handed over as. None where a shape is not documented, or
    not understood, and where the keys are those of dictionaries in dictionaries.
    """
    try:
        text = inspect.getsource(home)
        tree = ast.parse(text)
    except (OSError, SyntaxError, TypeError):
        return None
    keys = _keys_read(tree, getattr(function, "__name__", ""), place)
    shapes = _shapes_in(_written_in(text), keys)
    if not keys or set(shapes) != keys:
        return None
    symbols = {symbol for shape in shapes.values() for one in shape for symbol in _symbols(one)}
    sizes = {symbol: _size_of(symbol, symbols) for symbol in sorted(symbols)}
    if any(size is None for size in sizes.values()):
        return None
    known = {symbol: size for symbol, size in sizes.items() if size is not None}
    numbers = np.random.default_rng(_SEED)
    lengths = {key: [_length(one, known) for one in shape] for key, shape in shapes.items()}
    arrays = {key: _drawn(numbers, lengths[key]) for key in sorted(lengths)}
    return {key: _of_framework(one, home) for key, one in arrays.items()}, known


def _keys_read(tree: ast.Module, name: str, place: str) -> set[str]:
    """Return the keys that a function, and those of the file that it calls, read from a dictionary; none if nested."""
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    waiting, seen = [name], set[str]()
    keys: set[str] = set()
    while waiting:
        current = functions.get(waiting.pop())
        if current is None or current.name in seen:
            continue
        seen.add(current.name)
        names = {place, *(arg.arg for arg in current.args.args[:2])}
        for node in ast.walk(current):
            if isinstance(node, ast.Name):
                waiting.append(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript) and _key_of(node):
                return set()
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
                key = _key_of(node)
                keys |= {key} if key else set()
    return keys


def _key_of(node: ast.Subscript) -> str:
    return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else ""


def _written_in(text: str) -> str:
    """Return the comments and strings of code, where shapes are written in words."""
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return "\n".join(one.string for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type in kinds)


def _shapes_in(text: str, keys: set[str]) -> dict[str, list[str]]:
    """Return the dimensions of each key that a text names with its shape; of several shapes the first."""
    found: dict[str, list[str]] = {}
    for match in _SHAPE.finditer(text):
        dimensions = [one.strip() for one in match.group(2).split(",")]
        for name in re.findall(_NAME, match.group(1)):
            key = re.findall(r"\w+", name)[-1]
            if key in keys:
                found.setdefault(key, dimensions)
    return found


def _symbols(dimension: str) -> Iterator[str]:
    yield from (one for one in _factors(dimension) if not one.isdigit())


def _factors(dimension: str) -> list[str]:
    """Return the factors of "H*hd", "3D" or "2"."""
    return [part for one in re.split(r"[\s*]+", dimension) for part in re.findall(r"^\d+|[A-Za-z_]\w*", one)]


def _size_of(symbol: str, symbols: set[str]) -> int | None:
    """Return the size that a letter or a name stands for; where N counts the heads, H is the width of one."""
    heads_by_n = {"N", "H"} <= symbols and not symbols & {"hd", "Dh", "dh", "K", "d_h"}
    if heads_by_n and symbol in ("N", "H"):
        return _OF_HEADS if symbol == "N" else _WITHIN
    size = _LETTERS.get(symbol) or size_called(symbol)
    return size if type(size) is int and size > 0 else None


def _length(dimension: str, sizes: Mapping[str, int]) -> int:
    return math.prod(int(one) if one.isdigit() else sizes[one] for one in _factors(dimension))


def _drawn(numbers: np.random.Generator, shape: list[int]) -> np.ndarray:
    """Return random numbers of a matrix, or of a gain."""
    drawn = numbers.standard_normal(shape)
    return (1.0 + 0.3 * drawn if len(shape) == 1 else drawn / max(shape) ** 0.5).astype(np.float32)


def _of_framework(array: np.ndarray, home: ModuleType) -> Any:
    imported = imported_by(home.__name__)
    if "torch" in imported:
        return sys.modules["torch"].from_numpy(array)
    return sys.modules["jax"].numpy.asarray(array) if "jax" in imported else array.astype(np.float64)
