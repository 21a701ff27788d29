"""Inputs of the width that a model asked for when it refused another: its exceptions name both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

# What was wanted and what was given, as frameworks say it. A model may join its input with features of its own, so that
# the width given is not that of the input, but differs from the one that was wanted by as much.
_REFUSALS = (
    # PyTorch: torch.nn.Linear, torch.nn.LayerNorm.
    re.compile(r"cannot be multiplied \(\d+x(?P<given>\d+) and (?P<wanted>\d+)x\d+\)"),
    re.compile(r"normalized_shape=\[(?P<wanted>\d+)\].*input of size\s?\[(?:\d+, )*(?P<given>\d+)\]"),
    # NumPy: matmul.
    re.compile(r"size (?P<wanted>\d+) is different from (?P<given>\d+)"),
    # JAX: dot_general.
    re.compile(r"contracting dimensions.*got \(?(?P<given>\d+),?\)? and \(?(?P<wanted>\d+)"),
    # Keras: Dense, LayerNormalization.
    re.compile(r"axis -1 .*value (?P<wanted>\d+).*shape.?\(.*?(?P<given>\d+)\)"),
)


def of_wanted_width(vectors: np.ndarray[Any, np.dtype[Any]], message: str) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
    """Yield vectors (…, width) of the widths that a model asked for in the message of an exception."""
    found = next((match for one in _REFUSALS if (match := one.search(message))), None)
    if vectors.dtype.kind != "f" or vectors.ndim not in (2, 3) or found is None:
        return
    given, wanted, width = int(found["given"]), int(found["wanted"]), vectors.shape[-1]
    widths = [width - (given - wanted)]
    if given % width == 0 and wanted % (given // width) == 0:
        # Several vectors were joined to one.
        widths.append(wanted // (given // width))
    for one in dict.fromkeys(widths):
        if one > 0 and one != width:
            yield np.random.default_rng(one).normal(size=(*vectors.shape[:-1], one))
