"""Rarities of the gradients of whole Transformers: stacks of two layers, padding, grouped heads, gradients."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.drawing.rarity import Rarity, of_values

_LAWS = ("grad_layers", "grad_tables")
_STACKED: dict[str, Any] = {"layers": 2, "batch": 2, "length": 4, "width": 4, "heads": 2, "kv_heads": 2}


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


ENCODER = (*_stacked("bert"), *_padded("bert", "padding", "padding_mask"), *_gradients("bert"))
ENCODER_DECODER = (
    *_stacked("vaswani", "bart", source_length=3),
    *_padded("vaswani", "source_padding", "source_padding_mask", source_length=5),
    *_padded("bart", "padding", "target_padding_mask", source_length=5),
    *_gradients("vaswani", source_length=3),
)
LANGUAGE_MODEL = (
    *_stacked("gpt"),
    *_stacked("llama", width=8, kv_heads=1),
    *_stacked("llama", width=16, heads=4, layers=1, length=5),
    *_padded("gpt", "padding", "padding_mask"),
    *_gradients("llama", kv_heads=1),
)
