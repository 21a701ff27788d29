"""Keras on the backend that an implementation needs: a process has one, chosen before Keras is imported."""

from __future__ import annotations

import keras
from veriformer.adapters.errors import LoadError


def require_backend(name: str) -> None:
    """Do nothing where Keras runs on the backend called `name`; LoadError where it was imported with another."""
    present = keras.backend.backend()
    if present != name:
        raise LoadError(
            f"keras was imported on its {present} backend in this process and cannot change to {name}; "
            "check the implementations of each backend in a command of their own"
        )
