"""Rarities of the gradients of whole Transformers: stacks of two layers, padding, grouped heads, gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veriformer.conformance_tests.drawing.rarity import Rarity, of_values
from veriformer.conformance_tests.operations.models.rarities import as_many_samples, of_model_sizes

_LAWS = ("grad_layers", "grad_tables")
# Length, width, heads, key/value heads, hidden units, layers, vocabulary: each a size that is large alone.
_SIZES = (
    (3, 10, 5, 5, 17, 1, 65),
    (2, 18, 9, 9, 65, 3, 130),
    (2, 24, 12, 12, 130, 1, 260),
    (9, 24, 2, 2, 6, 1, 5),
    (3, 12, 2, 2, 3, 1, 1001),
    (18, 36, 2, 2, 3, 1, 5),
    (2, 256, 4, 4, 3, 1, 5),
    (3, 12, 6, 6, 12, 2, 12),
    (66, 2, 1, 1, 3, 1, 5),
    (130, 2, 1, 1, 3, 1, 5),
)
_GROUPED = ((2, 24, 12, 3, 5, 1, 5), (2, 16, 8, 1, 5, 1, 5))
_STACKED: dict[str, Any] = {"layers": 2, "batch": 2, "length": 4, "width": 4, "heads": 2, "kv_heads": 2}

_THREE: dict[str, Any] = {"layers": 3, "batch": 1, "length": 2, "width": 2, "heads": 1, "kv_heads": 1}
_SHORT: dict[str, Any] = {"layers": 1, "batch": 1, "length": 2, "width": 2, "heads": 1, "kv_heads": 1}


def _stacked(*architectures: str, **fields: Any) -> tuple[Rarity, ...]:
    """Return a stack of two layers for both laws, which without it may both be tried on stacks of one."""
    return tuple(
        Rarity((law,), {**_STACKED, **fields, "architecture": name}) for name in architectures for law in _LAWS
    )


def _padded(architecture: str, name: str, mask: str, **fields: Any) -> tuple[Rarity, ...]:
    given = {"architecture": architecture, "layers": 1, "length": 6, name: "right", **fields}
    return tuple(Rarity(_LAWS, given, ((mask, kind),), frozenset({mask})) for kind in ("all_true", "with_gaps"))


def _gradients(architecture: str, **fields: Any) -> tuple[Rarity, ...]:
    kinds = "zero negative small constant"
    return of_values(_LAWS, "grad_output", kinds, architecture=architecture, layers=1, **fields)


def _sized(*architectures: str, tokens: str = "tokens", **fields: Any) -> tuple[Rarity, ...]:
    """Return the sizes of real models, and as many samples as components, each in turn of another architecture."""
    given = (*of_model_sizes(_LAWS, tokens, _SIZES), *as_many_samples(_LAWS, (2, 2), (4, 2), (4, 4)))
    sizes = [replace(one, fields={**one.fields, **fields}) for one in given]
    return tuple(
        replace(one, fields={**one.fields, "architecture": architectures[place % len(architectures)]})
        for place, one in enumerate(sizes)
    )


ENCODER = (*_stacked("bert"), *_padded("bert", "padding", "padding_mask"), *_gradients("bert"), *_sized("bert"))
ENCODER_DECODER = (
    *_stacked("vaswani", "bart", source_length=3),
    *_padded("vaswani", "source_padding", "source_padding_mask", source_length=5),
    *_padded("bart", "padding", "target_padding_mask", source_length=5),
    *_gradients("vaswani", source_length=3),
    *_sized("vaswani", "bart", tokens="target", source_length=3),
    *(
        Rarity(_LAWS, {**_SHORT, "architecture": name, "source_length": length})
        for name, length in (("vaswani", 9), ("bart", 18), ("vaswani", 66))
    ),
    *(Rarity(_LAWS, {**_THREE, "architecture": name, "source_length": 3}) for name in ("vaswani", "bart")),
    *(
        Rarity(_LAWS, {**_SHORT, "architecture": name, "length": 5, "source_length": 5}, (("target", f"{how}_source"),))
        for name, how in (("vaswani", "same_as"), ("bart", "equal_to"))
    ),
    *(
        Rarity((law,), {**_SHORT, "batch": 2, "length": 1, "width": 4, "source_length": 2, "architecture": name})
        for name, law in zip(("vaswani", "bart"), _LAWS, strict=True)
    ),
)
LANGUAGE_MODEL = (
    *_stacked("gpt"),
    *_stacked("llama", width=8, kv_heads=1),
    *_stacked("llama", width=16, heads=4, layers=1, length=5),
    *(Rarity(_LAWS, {**_THREE, "architecture": name}) for name in ("gpt", "llama")),
    *_padded("gpt", "padding", "padding_mask"),
    *_gradients("llama", kv_heads=1),
    *_sized("gpt", "llama"),
    *(
        replace(one, fields={**one.fields, "architecture": "llama"})
        for one in of_model_sizes(_LAWS, "tokens", _GROUPED)
    ),
)
