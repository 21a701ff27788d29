"""The description of a case: a few numbers and names from which every array follows.

Hypothesis draws and shrinks descriptions, never arrays, so a counterexample is as small to read as to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Palette = Literal["bits", "integers", "normal", "offset", "repeated"]
MaskKind = Literal["none", "random", "padding", "left_padding", "one_visible", "empty_rows"]
Activation = Literal["relu", "gelu", "silu"]
MaskShape = Literal["full", "shared_by_heads", "shared_by_batch", "lengths", "keys_only"]


@dataclass(frozen=True)
class AttentionCase:
    """One call of an attention operation.

    Sizes are those of the interface: `kv_heads` divides `heads`. `biases` says whether the projections of
    multi-head attention have biases; `bias` is the additive bias of the logits.
    """

    batch: int
    heads: int
    kv_heads: int
    query_length: int
    key_length: int
    head_width: int
    value_width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    mask: MaskKind = "none"
    mask_shape: MaskShape = "full"
    bias: bool = False
    is_causal: bool = False
    scale: float | None = None
    biases: bool = False
    seed: int = 0

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        sizes = [f"batch {self.batch}", f"heads {self.heads}"]
        if self.kv_heads != self.heads:
            sizes.append(f"key/value heads {self.kv_heads}")
        sizes += [f"L = {self.query_length}", f"S = {self.key_length}", f"D = {self.head_width}"]
        if self.value_width != self.head_width:
            sizes.append(f"Dv = {self.value_width}")
        settings = [self.dtype]
        if self.mask != "none":
            settings.append(f"mask {self.mask.replace('_', ' ')} ({self.mask_shape.replace('_', ' ')})")
        settings += [name for name, on in (("bias", self.bias), ("causal", self.is_causal)) if on]
        if self.scale is not None:
            settings.append(f"scale {self.scale:g}")
        return ", ".join(sizes + settings)


@dataclass(frozen=True)
class VectorCase:
    """One call of an operation on vectors along the last axis, or on each entry: softmax, norms, activations."""

    batch: int
    rows: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    eps: float = 1e-5
    seed: int = 0

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        return f"batch {self.batch}, rows {self.rows}, width {self.width}, {self.dtype}"


@dataclass(frozen=True)
class FeedForwardCase:
    """One call of a feed-forward network; `hidden` is F, and `biases` says whether there are any."""

    batch: int
    rows: int
    width: int
    hidden: int
    activation: Activation = "relu"
    biases: bool = False
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    seed: int = 0

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        biases = ", biases" if self.biases else ""
        sizes = f"batch {self.batch}, rows {self.rows}, E = {self.width}, F = {self.hidden}"
        return f"{sizes}, {self.activation}{biases}, {self.dtype}"


@dataclass(frozen=True)
class CausalMaskCase:
    """One call of `causal_mask`."""

    query_length: int
    key_length: int
    dtype: str = "float32"
    seed: int = 0

    def describe(self) -> str:
        """Return the sizes in one line."""
        return f"L = {self.query_length}, S = {self.key_length}"


@dataclass(frozen=True)
class PaddingMaskCase:
    """One call of `padding_mask`."""

    lengths: tuple[int, ...]
    max_length: int
    dtype: str = "float32"
    seed: int = 0

    def describe(self) -> str:
        """Return the lengths in one line."""
        return f"lengths {list(self.lengths)}, max_length {self.max_length}"


@dataclass(frozen=True)
class PositionCase:
    """One call of `sinusoidal_positions`."""

    length: int
    d_model: int
    dtype: str = "float32"
    seed: int = 0

    def describe(self) -> str:
        """Return the sizes in one line."""
        return f"length {self.length}, d_model {self.d_model}"


Case = AttentionCase | VectorCase | FeedForwardCase | CausalMaskCase | PaddingMaskCase | PositionCase
