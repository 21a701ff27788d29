"""Topics: the modules of a folder that have entries of the catalogue, found by being there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def topics(package: ModuleType, having: str) -> Iterator[ModuleType]:
    """Yield the modules of a package that have the attribute `having`, in the order of their names."""
    for found in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{found.name}")
        if hasattr(module, having):
            yield module
