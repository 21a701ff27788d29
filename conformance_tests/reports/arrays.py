"""The inputs of a call, drawn as small matrices side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.reports.arguments import number_of_arrays
from veriformer.conformance_tests.reports.figures import cell
from veriformer.spec.operations import Operation

_AXES = {
    "B": "batch",
    "H": "head",
    "G": "key/value head",
    "L": "query",
    "S": "key",
    "D": "component",
    "Dv": "component",
}
_MOST_ENTRIES = 48
_MOST_BLOCKS = 6
_MOST_ROWS = 4
_MOST_COLUMNS = 6
_LONGEST_LINE = 48
_GAP = "   "


def axis_names(shape: str, rank: int) -> tuple[str, ...] | None:
    """Return the name of each axis of a shape such as "(B, H, L, D)", or None when the rank differs.

    Of "broadcastable to (B, H, L, S)" an array of lower rank has the last axes.
    """
    groups = re.findall(r"\(([^()]*)\)", shape)
    if len(groups) != 1 and "broadcastable" not in shape:
        return None
    letters = [part.strip() for part in groups[-1].split(",") if part.strip()]
    if "broadcastable" in shape and rank > 0:
        letters = letters[-rank:]
    return tuple(_AXES.get(letter, letter) for letter in letters) if len(letters) == rank else None


def shape_of_result(operation: Operation, part: str) -> str:
    """Return the shape of an operation's result as the specification writes it; of a tuple, that of the named part."""
    if not operation.results:
        return operation.result
    shapes: list[str] = re.findall(r"\([^()]*\)", operation.result)
    return dict(zip(operation.results, shapes, strict=False)).get(part, "")


def arguments_by_name(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every argument that is not None with its name.

    The arrays of weights have names such as "w_q", or "self_attention.w_q" in a group, those of a short list numbers.
    """
    for name, value in arguments.items():
        if is_dataclass(value) and number_of_arrays(value):
            yield from _members(value)
        elif _is_list_of_arrays(value) and len(value) <= _MOST_BLOCKS:
            yield from ((f"{name}[{place}]", array) for place, array in enumerate(value))
        elif value is not None:
            yield name, value


def _is_list_of_arrays(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, np.ndarray) for part in value)


def _members(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields(group):
        value = getattr(group, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _members(value, f"{prefix}{field.name}.")
        elif value is not None:
            yield f"{prefix}{field.name}", value


def drawn(operation: Operation, name: str, value: Any, width: int) -> list[str]:
    """Return an argument as rows of text: its value, or its shape and its matrices."""
    if isinstance(value, list):
        # All matrices would fill screens; the script that reproduces the case has them.
        of_arrays = _is_list_of_arrays(value)
        return [f"{len(value)} arrays" if of_arrays else f"{len(value)}, with {number_of_arrays(value)} arrays"]
    if not isinstance(value, np.ndarray):
        return [str(value)]
    shape = " × ".join(map(str, value.shape)) or "one number"
    if value.size > 1 and (value == value.flat[0]).all():
        return [f"{shape}   all {cell(value.flat[0])}"]
    if not _is_small(value):
        return [f"{shape}   ({value.size:,} entries)"]
    names = axis_names(shape_of(operation, name), value.ndim)
    blocks = [_block(matrix, _position(index, value.shape, names)) for index, matrix in _matrices(value)]
    if len(blocks) == 1 and (line := _on_one_line(blocks[0], width - len(shape) - len(_GAP))):
        return [f"{shape}{_GAP}{line}"]
    return _beside(shape, _packed(blocks, width - len(shape) - len(_GAP)))


def shape_of(operation: Operation, name: str) -> str:
    """Return the shape of a parameter as the specification writes it; empty for a member of a record of weights."""
    try:
        return operation.parameter(name).shape
    except KeyError:
        return ""


def _is_small(value: Array) -> bool:
    rows, columns = (1, 1, *value.shape)[-2:]
    blocks = value.size // max(rows * columns, 1)
    fits = rows <= _MOST_ROWS and columns <= _MOST_COLUMNS and blocks <= _MOST_BLOCKS
    return 0 < value.size <= _MOST_ENTRIES and fits


def _matrices(value: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
    if value.ndim < 2:
        yield (), value.reshape(1, -1)
    else:
        for index in np.ndindex(value.shape[:-2]):
            yield index, value[index]


def _position(index: tuple[int, ...], shape: tuple[int, ...], names: tuple[str, ...] | None) -> str:
    """Return the position of a matrix in words; axes of size one are left out."""
    shown = [axis for axis in range(len(index)) if shape[axis] > 1]
    if names is None:
        return str([index[axis] for axis in shown]) if shown else ""
    return ", ".join(f"{names[axis]} {index[axis]}" for axis in shown)


def _block(matrix: Array, title: str) -> list[str]:
    cells = [[cell(entry) for entry in row] for row in matrix.tolist()]
    widest = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = [f"[{' '.join(text.rjust(wide) for text, wide in zip(row, widest, strict=True))}]" for row in cells]
    if title and len(rows) == 1:
        return [f"{title} {rows[0]}"]
    return [title, *rows] if title else rows


def _on_one_line(rows: list[str], width: int) -> str:
    """Return a small matrix as NumPy prints it, but on one line; empty where it is too long to be read so."""
    line = f"[{' '.join(rows)}]" if len(rows) > 1 else ""
    return line if len(line) <= min(width, _LONGEST_LINE) else ""


def _packed(blocks: list[list[str]], width: int) -> list[str]:
    """Return blocks side by side, in as many bands as the width requires."""
    bands: list[list[list[str]]] = [[]]
    used = 0
    for block in blocks:
        wide = max(map(len, block)) + len(_GAP)
        if bands[-1] and used + wide > width:
            bands.append([])
            used = 0
        bands[-1].append(block)
        used += wide
    return [row for band in bands for row in _band(band)]


def _band(blocks: list[list[str]]) -> list[str]:
    widths = [max(map(len, block)) for block in blocks]
    return [
        _GAP.join(row.ljust(wide) for row, wide in zip(rows, widths, strict=True)).rstrip()
        for rows in zip(*blocks, strict=True)
    ]


def _beside(shape: str, rows: list[str]) -> list[str]:
    margin = " " * len(shape)
    return [f"{shape if number == 0 else margin}{_GAP}{row}" for number, row in enumerate(rows)]
