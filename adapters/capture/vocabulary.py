"""How many tokens a model has a row for in every table that it may look them up in."""

from __future__ import annotations

import re
from collections.abc import Mapping

Shape = tuple[int, ...]
# Tables with fewer rows are rather the biases of heads.
_FEW = 11
_TABLE = re.compile(r"emb|wte|tok|vocab|word|table|shared", re.IGNORECASE)
_OTHER_TABLE = re.compile(r"pos|wpe|type|segment|rel|patch|cls", re.IGNORECASE)


def vocabulary(shapes: Mapping[str, Shape]) -> int:
    """Return a number of tokens that every table of the model has a row for.

    An index beyond a table does not raise everywhere: JAX takes the last row, or NaN.
    """
    rows = [shape[0] for shape in shapes.values() if len(shape) == 2 and shape[0] >= 2]
    return min(_rows_by_name(shapes) or [count for count in rows if count > _FEW] or rows, default=2)


def _rows_by_name(shapes: Mapping[str, Shape]) -> list[int]:
    """Return the rows of the tables whose names say that tokens are looked up in them."""
    tables = {name: shape[0] for name, shape in shapes.items() if len(shape) == 2 and shape[0] >= 2}
    return [rows for name, rows in tables.items() if _TABLE.search(name) and not _OTHER_TABLE.search(name)]


def vocabulary_beyond(shapes: Mapping[str, Shape], largest: int) -> int:
    """Return a number of tokens that every table has a row for which the model may look the tokens up in.

    `largest` is the largest token that was handed over. Where no table has a name that says so, any may be that of the
    tokens which has a row for it.
    """
    if named := _rows_by_name(shapes):
        return max(min(named), largest + 1)
    rows = [shape[0] for shape in shapes.values() if len(shape) == 2]
    return min((count for count in rows if count > largest), default=largest + 1)
