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
    """How a framework's arrays are written, and what is done with them in a script.

    `boolean`: its bool, where that is not called so. The others are expressions in which {} stands for an array: with
    its second and third axes exchanged, with some of its second axis, and as Python's numbers.
    """

    imports: tuple[str, ...]
    made: str
    full: str
    dtypes: str
    boolean: str = ""
    turned: str = "{}.swapaxes(1, 2)"
    chosen: str = "{}[:, {order}]"
    listed: str = "{}.tolist()"

    def array(self, value: Array, dtype: str) -> str:
        """Return the expression that makes `value`, floating-point values in `dtype`."""
        name = _dtype(value, dtype)
        kind = self.boolean if name == "bool" and self.boolean else f"{self.dtypes}.{name}"
        if value.size == 0 or (value.size >= _UNIFORM_FROM and _is_uniform(value)):
            filling = "0" if value.size == 0 else scalar(value.flat[0], dtype)
            return self.full.format(shape=value.shape, filling=filling, dtype=kind)
        return self.made.format(nested(value, dtype), dtype=kind)


def _of_module(name: str, imported: str, maker: str = "array", boolean: str = "") -> Notation:
    """Return the notation of a module that makes arrays as NumPy does."""
    made, full = f"{name}.{maker}({{}}, dtype={{dtype}})", f"{name}.full({{shape}}, {{filling}}, dtype={{dtype}})"
    return Notation((imported,), made, full, name, boolean)


NOTATIONS = {
    "numpy": _of_module("np", "import numpy as np", boolean="bool"),
    "torch": _of_module("torch", "import torch", "tensor"),
    "jax": _of_module("jnp", "import jax.numpy as jnp"),
    "mlx": _of_module("mx", "import mlx.core as mx", boolean="mx.bool_"),
    "cupy": _of_module("cp", "import cupy as cp", boolean="bool"),
    "tensorflow": Notation(
        ("import tensorflow as tf",),
        "tf.constant({}, dtype={dtype})",
        "tf.constant({filling}, shape={shape}, dtype={dtype})",
        "tf",
        turned="tf.experimental.numpy.swapaxes({}, 1, 2)",
        chosen="tf.gather({}, {order}, axis=1)",
        listed="{}.numpy().tolist()",
    ),
    "tinygrad": Notation(
        ("from tinygrad import Tensor, dtypes",),
        "Tensor({}, dtype={dtype})",
        "Tensor.full({shape}, {filling}, dtype={dtype})",
        "dtypes",
        turned="{}.transpose(1, 2)",
    ),
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
