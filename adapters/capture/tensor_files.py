"""Arrays and a text in a safetensors file, which other tools read too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from veriformer.adapters.capture.weights import Array

SUFFIX = ".safetensors"
_TEXT = "veriformer"


class DamagedFile(Exception):
    """A file is no safetensors file, or lacks what is looked for."""


def write_tensors(path: Path, arrays: Sequence[Array], text: str) -> None:
    """Write arrays under their numbers, and a text among the metadata."""
    save_file({str(number): np.asarray(array, order="C") for number, array in enumerate(arrays)}, path, {_TEXT: text})


class TensorFile:
    """A safetensors file with arrays under numbers. All methods raise DamagedFile."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = safe_open(path, framework="numpy")
        except (SafetensorError, OSError) as error:
            raise DamagedFile(f"it is no safetensors file ({error})") from error

    def text(self) -> str:
        """Return the text among the metadata."""
        text = (self._file.metadata() or {}).get(_TEXT)  # type: ignore[no-untyped-call]
        if text is None:
            raise DamagedFile("it holds tensors, and no record of a model")
        return str(text)

    def array(self, number: int) -> Array:
        """Return an array."""
        try:
            return np.asarray(self._file.get_tensor(str(number)))  # type: ignore[no-untyped-call]
        except (SafetensorError, KeyError, TypeError) as error:
            raise DamagedFile(f"the array {number} is missing, or not one of numbers") from error
