"""The framework that Keras computes with, where nothing says which and TensorFlow, its own choice, is not installed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_BACKENDS = ("torch", "jax")
_VARIABLE = "KERAS_BACKEND"


@contextmanager
def chosen(file: Path | None = None) -> Iterator[None]:
    """Name an installed framework in the environment, while an import of Keras would fail otherwise.

    A file that names one itself, as with os.environ.setdefault, is not forestalled.
    """
    backend = None if file is not None and _VARIABLE in file.read_text(errors="replace") else _chosen()
    if backend is None:
        yield
        return
    os.environ[_VARIABLE] = backend
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)


def _chosen() -> str | None:
    """Return the framework to name; None where Keras needs no other choice, or is not there."""
    if _VARIABLE in os.environ or "keras" in sys.modules or _configured() != "tensorflow":
        return None
    if find_spec("keras") is None or find_spec("tensorflow") is not None:
        return None
    return next((one for one in _BACKENDS if find_spec(one) is not None), None)


def _configured() -> str:
    """Return the backend that the user's configuration of Keras names, which is TensorFlow if there is none."""
    folder = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    try:
        return str(json.loads((folder / "keras.json").read_text(encoding="utf-8")).get("backend", "tensorflow"))
    except (OSError, ValueError, AttributeError):
        return "tensorflow"
