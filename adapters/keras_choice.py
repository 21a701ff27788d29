"""The framework that Keras computes with, where nothing says which and TensorFlow, its own choice, is not installed."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

_BACKENDS = ("torch", "jax")
_VARIABLE = "KERAS_BACKEND"


def choose() -> None:
    """Name an installed framework in the environment, for an import of Keras that would fail otherwise."""
    if _VARIABLE in os.environ or "keras" in sys.modules or _configured() != "tensorflow":
        return
    if find_spec("keras") is None or find_spec("tensorflow") is not None:
        return
    installed = next((one for one in _BACKENDS if find_spec(one) is not None), None)
    if installed is not None:
        os.environ[_VARIABLE] = installed


def _configured() -> str:
    """Return the backend that the user's configuration of Keras names, which is TensorFlow if there is none."""
    folder = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    try:
        return str(json.loads((folder / "keras.json").read_text(encoding="utf-8")).get("backend", "tensorflow"))
    except (OSError, ValueError, AttributeError):
        return "tensorflow"
