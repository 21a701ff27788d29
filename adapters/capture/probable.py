"""What is probably a model, told by its name alone: nothing is loaded, and nothing is imported for it."""

from __future__ import annotations

from veriformer.adapters.built_in import BUILT_IN

RECORDS = (".trace", ".safetensors")
"""How the file of a recorded model may end, which `veriformer capture` writes."""


def is_probably_a_model(source: str) -> bool:
    """Return whether a source is probably a model: something in a file or module, an ONNX file, or a record.

    A file or module alone is probably an implementation of operations, though it may have a function `build`.
    """
    return source not in BUILT_IN and (":" in source or source.endswith((".onnx", *RECORDS)))
