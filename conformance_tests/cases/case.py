"""The description of a case: a few numbers and names from which every array follows.

Descriptions are drawn and shrunk, never arrays, so a counterexample is as small to read as to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.cases.black_box import BoxCase
from veriformer.conformance_tests.cases.layer_case import LayerCase
from veriformer.conformance_tests.cases.models import ModelCase
from veriformer.conformance_tests.cases.regimes import Regime

Palette = Literal["bits", "integers", "normal", "offset", "repeated"]
MaskKind = Literal["none", "random", "padding", "left_padding", "one_visible", "empty_rows"]
IgnoreKind = Literal["none", "outside", "minus_one", "inside"]
Reduction = Literal["mean", "sum", "none"]
Window = tuple[int | None, int | None]
EmptyParts = Literal["none", "one", "both"]
Activation = Literal["relu", "gelu", "silu"]
MaskShape = Literal["full", "shared_by_heads", "shared_by_batch", "lengths", "keys_only"]


@dataclass(frozen=True)
class AttentionCase:
    """One call of an attention operation.

    Sizes are those of the interface: `kv_heads` divides `heads`. `biases` says whether the projections of
    multi-head attention have biases, `itself` that context and x are one array; `bias` is the additive bias of the
    logits.
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
    itself: bool = False
    window: Window | None = None
    softcap: float | None = None
    sinks: bool = False
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        lengths, widths = self.query_length + self.key_length, self.head_width + self.value_width
        return self.batch + self.heads + lengths + widths

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
        settings += [
            name for name, on in (("bias", self.bias), ("causal", self.is_causal), ("sinks", self.sinks)) if on
        ]
        if self.window is not None:
            settings.append(f"window {self.window}")
        if self.softcap is not None:
            settings.append(f"softcap {self.softcap:g}")
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
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.rows + self.width

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
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.rows + self.width + self.hidden

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

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.query_length + self.key_length

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

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return len(self.lengths) + self.max_length

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

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.length + self.d_model

    def describe(self) -> str:
        """Return the sizes in one line."""
        return f"length {self.length}, d_model {self.d_model}"


@dataclass(frozen=True)
class LossCase:
    """One call of `cross_entropy`; `ignore` says where the ignored value lies: outside the classes or among them."""

    batch: int
    length: int
    classes: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    ignore: IgnoreKind = "none"
    label_smoothing: float | None = None
    reduction: Reduction | None = None
    seed: int = 0

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.length + self.classes

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        settings = [f"batch {self.batch}", f"L = {self.length}", f"N = {self.classes}", self.dtype]
        if self.ignore != "none":
            settings.append(f"ignored value {self.ignore.replace('_', ' ')}")
        if self.label_smoothing is not None:
            settings.append(f"label smoothing {self.label_smoothing:g}")
        if self.reduction is not None:
            settings.append(f"reduction {self.reduction}")
        return ", ".join(settings)


@dataclass(frozen=True)
class EmbeddingCase:
    """One call of `token_embedding`."""

    batch: int
    length: int
    vocabulary: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    scaled: bool = False
    seed: int = 0

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.length + self.vocabulary + self.width

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        sizes = f"batch {self.batch}, L = {self.length}, N = {self.vocabulary}, E = {self.width}, {self.dtype}"
        return f"{sizes}, scaled" if self.scaled else sizes


@dataclass(frozen=True)
class RotaryCase:
    """One call of `rotary_embedding`; positions are drawn from 0 to `furthest`, for each sample if `per_sample`."""

    batch: int
    heads: int
    length: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    per_sample: bool = False
    furthest: int = 2
    base: float | None = None
    rotary_dim: int | None = None
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        # A wider vector is harder to read than one row more: every component has an angle of its own.
        return self.batch + self.heads + self.length + 2 * self.width

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}, D = {self.width}, {self.dtype}"
        given = (("base", self.base), ("rotary_dim", self.rotary_dim))
        settings = [f"{name} {value:g}" for name, value in given if value is not None]
        whose = "of each sample" if self.per_sample else "of all samples"
        return ", ".join([sizes, f"positions {whose} up to {self.furthest}", *settings])


@dataclass(frozen=True)
class AlibiCase:
    """One call of `alibi_bias`."""

    heads: int
    query_length: int
    key_length: int
    dtype: str = "float32"
    seed: int = 0

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.heads + self.query_length + self.key_length

    def describe(self) -> str:
        """Return the sizes in one line."""
        return f"heads {self.heads}, L = {self.query_length}, S = {self.key_length}"


@dataclass(frozen=True)
class BucketCase:
    """One call of `relative_position_bucket`; relative positions are drawn between −`furthest` and `furthest`."""

    rows: int
    columns: int
    furthest: int
    bidirectional: bool | None = None
    num_buckets: int | None = None
    max_distance: int | None = None
    dtype: str = "float32"
    seed: int = 0

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.rows + self.columns

    def describe(self) -> str:
        """Return the shape and the settings in one line."""
        given = (("num_buckets", self.num_buckets), ("max_distance", self.max_distance))
        settings = [f"{name} {value}" for name, value in given if value is not None]
        if self.bidirectional is not None:
            settings.append("bidirectional" if self.bidirectional else "one direction")
        return ", ".join([f"relative positions {self.rows} × {self.columns}, up to ±{self.furthest}", *settings])


@dataclass(frozen=True)
class MergeCase:
    """One call of `merge_attention`: an attention over `keys` keys, divided in two.

    Of half the rows one part, or both, are `empty`.
    """

    batch: int
    heads: int
    length: int
    keys: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    empty: EmptyParts = "none"
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return self.batch + self.heads + self.length + self.keys + self.width

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}, Dv = {self.width}, {self.dtype}"
        empty = "" if self.empty == "none" else f", rows of which {self.empty} {_PARTS[self.empty]} no keys"
        return f"{sizes}, {self.keys} keys divided in two{empty}"


_PARTS = {"one": "part has", "both": "parts have"}

Case = (
    AttentionCase
    | VectorCase
    | FeedForwardCase
    | CausalMaskCase
    | PaddingMaskCase
    | PositionCase
    | RotaryCase
    | AlibiCase
    | BucketCase
    | LossCase
    | EmbeddingCase
    | MergeCase
    | LayerCase
    | ModelCase
    | BoxCase
)

# Those that are filled with numbers, one sample like another: a call can carry many.
Batchable = AttentionCase | VectorCase | FeedForwardCase | RotaryCase | MergeCase | LayerCase
