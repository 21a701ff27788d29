"""The paths of the layers in a Keras layer: Keras has none by attribute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def named_layers(layer: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a layer and those inside, each under the names of those around it."""
    yield path, layer
    for inner in layer._flatten_layers(include_self=False, recursive=False):
        yield from named_layers(inner, f"{path}.{inner.name}" if path else inner.name)
