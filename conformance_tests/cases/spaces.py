"""Where a law's cases are drawn from: what it fixes, what it forbids, and what is left free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.cases.black_box import BoxSpace
from veriformer.conformance_tests.cases.case import (
    Activation,
    EmptyParts,
    IgnoreKind,
    MaskKind,
    MaskShape,
    Palette,
    Reduction,
)
from veriformer.conformance_tests.cases.layer_case import PaddingSide
from veriformer.conformance_tests.cases.models import ModelSpace

How = Literal["never", "sometimes", "always"]
EVERY_PALETTE: tuple[Palette, ...] = ("bits", "integers", "normal", "offset", "repeated")
EXACT_PALETTES: tuple[Palette, ...] = ("bits", "integers")
MASK_SHAPES: tuple[MaskShape, ...] = ("full", "shared_by_heads", "shared_by_batch", "lengths", "keys_only")
REDUCTIONS: tuple[Reduction | None, ...] = (None, "mean", "sum", "none")
MASK_SHAPES_OF_ONE_HEAD: tuple[MaskShape, ...] = ("full", "shared_by_batch", "lengths", "keys_only")
IGNORE_KINDS: tuple[IgnoreKind, ...] = ("outside", "minus_one", "inside")
MASK_KINDS: tuple[MaskKind, ...] = ("random", "padding", "left_padding", "one_visible")


@dataclass(frozen=True)
class AttentionSpace:
    """Cases of attention. `sometimes` means: drawn either way where the implementation has the feature.

    `queries`, `keys` and `heads` fix a size; the `least_*` bound it from below. Lengths where `keys_suffice` have at
    least as many keys as queries. `grouped` asks for several key/value heads with several query heads each.
    """

    mask: How = "never"
    mask_kinds: tuple[MaskKind, ...] = MASK_KINDS
    mask_shapes: tuple[MaskShape, ...] = MASK_SHAPES
    causal: How = "never"
    bias: How = "never"
    scale: How = "never"
    window: How = "never"
    softcap: How = "never"
    sinks: How = "never"
    biases: How = "sometimes"
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    lengths: Literal["any", "equal", "unequal", "keys_suffice"] = "any"
    widths: Literal["any", "unequal"] = "any"
    kv_heads: Literal["any", "one", "all"] = "any"
    grouped: bool = False
    queries: int | None = None
    keys: int | None = None
    heads: int | None = None
    least_batch: int = 1
    least_heads: int = 1
    least_queries: int = 1
    least_keys: int = 1
    least_width: int = 1


@dataclass(frozen=True)
class VectorSpace:
    """Cases of operations on vectors."""

    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    least_rows: int = 1
    least_width: int = 1


@dataclass(frozen=True)
class FeedForwardSpace:
    """Cases of feed-forward networks."""

    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    activations: tuple[Activation, ...] = ("relu", "gelu", "silu")
    biases: How = "sometimes"
    least_rows: int = 1
    least_hidden: int = 1


@dataclass(frozen=True)
class CausalMaskSpace:
    """Cases of `causal_mask`."""

    square: bool = False


@dataclass(frozen=True)
class PaddingMaskSpace:
    """Cases of `padding_mask`."""

    least_batch: int = 1


@dataclass(frozen=True)
class PositionSpace:
    """Cases of `sinusoidal_positions`."""

    least_length: int = 1


@dataclass(frozen=True)
class LossSpace:
    """Cases of `cross_entropy`; where a target is ignored another is kept, so that there are two at least.

    A reduction of None is that of nobody who asks. Smoothed cases stay small: torch sums over all classes and positions
    before it divides, and float16 ends at 65504.
    """

    ignore: How = "never"
    smoothing: How = "never"
    shares: tuple[float, ...] = (0.1, 0.25, 0.5)
    reductions: tuple[Reduction | None, ...] = (None,)
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    least_batch: int = 1
    least_length: int = 1
    least_classes: int = 1


@dataclass(frozen=True)
class EmbeddingSpace:
    """Cases of `token_embedding`; a vocabulary of two has another token to change to."""

    scaled: How = "never"
    least_positions: int = 1
    least_vocabulary: int = 1


@dataclass(frozen=True)
class RotarySpace:
    """Cases of `rotary_embedding`. A rotary dimension that is always given is smaller than the width."""

    base: How = "sometimes"
    rotary_dim: How = "sometimes"
    per_sample: How = "sometimes"
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    least_batch: int = 1
    least_heads: int = 1
    least_length: int = 1
    least_width: int = 2


@dataclass(frozen=True)
class AlibiSpace:
    """Cases of `alibi_bias`, with at least as many keys as queries unless they are `square`."""

    heads: Literal["any", "power_of_two", "other"] = "any"
    square: bool = False
    more_keys: bool = False
    least_heads: int = 1
    least_length: int = 1


@dataclass(frozen=True)
class BucketSpace:
    """Cases of `relative_position_bucket`."""

    direction: Literal["any", "both", "one"] = "any"
    least_columns: int = 1


@dataclass(frozen=True)
class MergeSpace:
    """Cases of `merge_attention`."""

    empty: EmptyParts = "none"
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 2)
    least_keys: int = 2


@dataclass(frozen=True)
class LayerSpace:
    """Cases of encoder and decoder layers; `length` and `memory` fix a length, the `least_*` bound it from below."""

    place: Literal["pre", "post", "any"] = "any"
    padding: How = "never"
    padding_sides: tuple[PaddingSide, ...] = ("right", "left")
    memory_padding: How = "never"
    biases: How = "sometimes"
    activations: tuple[Activation, ...] = ("relu", "gelu", "silu")
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    length: int | None = None
    memory: int | None = None
    least_batch: int = 1
    least_heads: int = 1
    least_length: int = 1
    least_memory: int = 1


@dataclass(frozen=True)
class OwnSpace:
    """Cases of whatever kind the operation has, for laws that hold of every operation alike."""

    extras: bool = True


@dataclass(frozen=True)
class NoSpace:
    """No cases at all: a law about the signature or about fixed examples is tried once."""


Space = (
    AttentionSpace
    | VectorSpace
    | FeedForwardSpace
    | CausalMaskSpace
    | PaddingMaskSpace
    | PositionSpace
    | RotarySpace
    | AlibiSpace
    | BucketSpace
    | LossSpace
    | EmbeddingSpace
    | MergeSpace
    | LayerSpace
    | ModelSpace
    | BoxSpace
    | OwnSpace
    | NoSpace
)
