"""Whether a model is a Keras layer, and the paths of the layers in it: Keras has none by attribute."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


def is_keras_layer(model: object) -> bool:
    """Return whether a model is a layer of Keras, which cannot be where Keras was not imported."""
    kind = getattr(sys.modules.get("keras"), "Layer", None)
    return kind is not None and isinstance(model, kind)


def named_layers(layer: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a layer and those inside, each under the names of those around it."""
    yield path, layer
    for inner in layer._flatten_layers(include_self=False, recursive=False):
        yield from named_layers(inner, f"{path}.{inner.name}" if path else inner.name)
