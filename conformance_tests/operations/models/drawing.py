"""The drawn parts of whole Transformers' inputs: configurations, weights, padding."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.models.cases import ModelCase, Side

TreeT = TypeVar("TreeT", reference.TransformerWeights, reference.EncoderDecoderWeights)
# Matrices are smaller than unit size: a layer in which vectors grow makes bounds grow with them, and worst-case
# rounding bounds would hide mistakes.
_STEP = 0.25


def below(length: int, causal: bool) -> Array:
    """Return which keys each query may see, (1, 1, L, L)."""
    return (np.tri(length, dtype=bool) if causal else np.ones((length, length), dtype=bool))[None, None]


def drawn_configuration(case: ModelCase) -> reference.TransformerConfiguration:
    """Return the configuration of a case."""
    architecture: Any = case.architecture
    return reference.configure(
        architecture,
        num_layers=case.layers,
        d_model=case.width,
        num_heads=case.heads,
        num_kv_heads=case.kv_heads,
        d_ff=case.hidden,
        vocabulary_size=case.vocabulary,
        max_length=max(case.length, case.source_length) + case.more_positions,
        eps=case.eps,
        rotary_base=case.rotary_base,
    )


def drawn_weights(
    tree: type[TreeT],
    config: reference.TransformerConfiguration,
    case: ModelCase,
    generator: np.random.Generator,
    *,
    encoder_only: bool = False,
) -> TreeT:
    """Return the weights of a tree, no two of them equal; gains are never one, shifts and biases never zero."""

    def make(name: str, shape: tuple[int, ...]) -> Array:
        if name == "gamma":
            return generator.choice((0.5, 0.75, 1.25, 1.5), shape)
        if len(shape) == 1:
            return generator.choice((-0.5, -0.25, 0.25, 0.5), shape)
        is_table = name in ("embedding", "positions")
        if case.palette in ("bits", "integers"):
            steps = generator.integers(0 if case.palette == "bits" else -1, 2, shape)
            return steps * (1.0 if is_table else _STEP)
        return round_to_dtype(generator.normal(size=shape) * (1.0 if is_table else 0.5 * shape[0] ** -0.5), case.dtype)

    weights = reference.weight_tree(config, make, encoder_only=encoder_only)
    if not isinstance(weights, tree):
        raise TypeError(f"the weights of {config.architecture} are no {tree.__name__}")
    return weights


def drawn_padding(side: Side, tokens: Array, generator: np.random.Generator) -> Array | None:
    """Return which tokens are real: at least one of each sample, and half of the last, whatever the seed."""
    if side == "none":
        return None
    batch, length = tokens.shape
    lengths = generator.integers(1, length + 1, (batch, 1))
    lengths[-1] = max(length // 2, 1)
    mask: Array = np.arange(length) < lengths
    return mask if side == "right" else mask[:, ::-1].copy()
