"""Arrays as source text, exact to the last bit, in the notation of each framework."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

_LONGEST = 100
_UNIFORM_FROM = 9
_LARGEST_WHOLE = 1e6
_LARGEST_FLOAT32 = 1e38


@dataclass(frozen=True)
class Notation:
    """How a framework's arrays are written."""

    imports: tuple[str, ...]
    module: str
    maker: str
    full: str = "full"

    def array(self, value: Array, dtype: str) -> str:
        """Return the expression that makes `value`, floating-point values in `dtype`."""
        kind = f"{self.module}.{_dtype(value, dtype)}"
        if self.module == "np":
            kind = kind.replace("np.bool", "bool")
        if value.size == 0 or (value.size >= _UNIFORM_FROM and _is_uniform(value)):
            filling = "0" if value.size == 0 else scalar(value.flat[0], dtype)
            return f"{self.module}.{self.full}({value.shape}, {filling}, dtype={kind})"
        return f"{self.module}.{self.maker}({nested(value, dtype)}, dtype={kind})"


NOTATIONS = {
    "numpy": Notation(("import numpy as np",), "np", "array"),
    "torch": Notation(("import torch",), "torch", "tensor"),
    "jax": Notation(("import jax.numpy as jnp",), "jnp", "array"),
}


def nested(value: Array, dtype: str = "float64", digits: int | None = None) -> str:
    """Return nested lists, on several lines if one would be too long."""
    one_line = _one_line(value, dtype, digits)
    if len(one_line) <= _LONGEST:
        return one_line
    return "\n".join(
        textwrap.wrap(one_line, _LONGEST, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    )


def scalar(value: Any, dtype: str = "float64", digits: int | None = None) -> str:
    """Return one entry: the shortest text that is read back exactly, or one with `digits` digits."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    number = float(value)
    if number.is_integer() and abs(number) < _LARGEST_WHOLE:
        return "-0.0" if number == 0.0 and math.copysign(1.0, number) < 0.0 else str(int(number))
    if digits is not None and math.isfinite(number):
        return repr(float(f"{number:.{digits}g}"))
    narrow = np.float32(number) if dtype != "float64" and abs(number) < _LARGEST_FLOAT32 else None
    return str(narrow) if narrow is not None and float(narrow) == number else repr(number)


def _one_line(value: Array, dtype: str, digits: int | None) -> str:
    if value.ndim == 0:
        return scalar(value.item(), dtype, digits)
    return f"[{', '.join(_one_line(part, dtype, digits) for part in value)}]"


def _is_uniform(value: Array) -> bool:
    return bool((value == value.flat[0]).all())


def _dtype(value: Array, dtype: str) -> str:
    return {"b": "bool", "i": "int64", "u": "int64"}.get(value.dtype.kind, dtype)
