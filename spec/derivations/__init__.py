"""Derivations of the laws: which exist, and how to load one. Listing them does not import SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veriformer.spec.derivations.catalogue import (
    UnknownDerivationError,
    derivation_ids,
    derivation_title,
    load_derivation,
)

if TYPE_CHECKING:
    from veriformer.spec.derivations.derivation import Derivation, Meaning, Scope, Source, Step
    from veriformer.spec.derivations.markdown import render_markdown
    from veriformer.spec.derivations.rendering import render_text

__all__ = [
    "Derivation",
    "Meaning",
    "Scope",
    "Source",
    "Step",
    "UnknownDerivationError",
    "derivation_ids",
    "derivation_title",
    "load_derivation",
    "render_markdown",
    "render_text",
]

_LAZY = {
    "Derivation": "derivation",
    "Meaning": "derivation",
    "Scope": "derivation",
    "Source": "derivation",
    "Step": "derivation",
    "render_markdown": "markdown",
    "render_text": "rendering",
}


def __getattr__(name: str) -> object:
    """Import the types and the rendering only when they are needed: they import SymPy."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
