"""Cases of attention, and the spaces that they are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from veriformer.conformance_tests.drawing.case import BatchableCase, MaskKind, Palette
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space

# Those whose query heads share given key/value heads.
GROUPED = ("grouped_query_attention", "grouped_query_attention_backward")
# Those between projections, which may have biases.
PROJECTED = ("multi_head_attention", "multi_head_attention_backward")
# Those of what is added to the logits, and the argument that every call of them passes.
ADDITIONS: Mapping[str, Literal["bias", "sinks"]] = MappingProxyType(
    {"attention_bias_backward": "bias", "attention_sinks_backward": "sinks"}
)
Window = tuple[int | None, int | None]
MaskShape = Literal["full", "shared_by_heads", "shared_by_batch", "lengths", "keys_only"]


@dataclass(frozen=True)
class AttentionCase(BatchableCase):
    """One call of an attention operation.

    Sizes are those of the interface: `kv_heads` divides `heads`. `biases` says whether the projections of multi-head
    attention have biases, `itself` that context and x are one array; `bias` is the additive bias of the logits, of the
    shape `bias_shape`.
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
    bias_shape: MaskShape = "full"
    is_causal: bool = False
    scale: float | None = None
    biases: bool = False
    itself: bool = False
    window: Window | None = None
    softcap: float | None = None
    sinks: bool = False
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    is_costly: ClassVar[bool] = True

    axes: ClassVar[tuple[str, ...]] = ("batch", "heads", "query_length", "key_length", "head_width", "value_width")

    @property
    def numbers(self) -> int:
        logits, rows = self.query_length * self.key_length, self.query_length + self.key_length
        # The tolerance takes the distance of every value from every output.
        return self.heads * (logits * (self.value_width + 2) + 2 * rows * self.head_width)

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        case = replace(self, biases=fixed.biases(self.biases, self.seed, space))
        if "num_kv_heads" in fixed.offered and not getattr(space, "grouped", False):
            case = replace(case, kv_heads=case.heads)
        if "context" in fixed.offered and getattr(space, "lengths", "any") != "unequal":
            longest = max(case.query_length, case.key_length)
            length = getattr(space, "queries", None) or getattr(space, "keys", None) or longest
            case = replace(case, query_length=length, key_length=length, itself=True)
        return case._of_fixed_sizes(fixed, space)

    def _of_fixed_sizes(self, fixed: FixedChoices, space: Space | None) -> Self:
        """Return the case with the sizes and the flag that are fixed."""
        heads = fixed.number("num_heads") or self.heads
        width = fixed.number("d_model")
        changed = replace(
            self,
            heads=heads,
            kv_heads=fixed.number("num_kv_heads") or (heads if self.kv_heads == self.heads else self.kv_heads),
            head_width=self.head_width if width is None or width % heads else width // heads,
            query_length=fixed.length(self.query_length),
            key_length=fixed.length(self.key_length),
            is_causal=self.is_causal or "is_causal" in fixed.offered,
        )
        if self.value_width == self.head_width:
            changed = replace(changed, value_width=changed.head_width)
        # Of a law that cannot do with these sizes the case stays as it is, and is refused.
        return changed if not isinstance(space, AttentionSpace) or space.lacks(changed) <= space.lacks(self) else self

    def describe(self) -> str:
        sizes = [f"batch {self.batch}", f"heads {self.heads}"]
        if self.kv_heads != self.heads:
            sizes.append(f"key/value heads {self.kv_heads}")
        sizes += [f"L = {self.query_length}", f"S = {self.key_length}", f"D = {self.head_width}"]
        if self.value_width != self.head_width:
            sizes.append(f"Dv = {self.value_width}")
        settings = [self.dtype]
        if self.mask != "none":
            settings.append(f"mask {self.mask.replace('_', ' ')} ({self.mask_shape.replace('_', ' ')})")
        shape = "" if self.bias_shape == "full" else f" ({self.bias_shape.replace('_', ' ')})"
        settings += [
            name for name, on in ((f"bias{shape}", self.bias), ("causal", self.is_causal), ("sinks", self.sinks)) if on
        ]
        if self.window is not None:
            settings.append(f"window {self.window}")
        if self.softcap is not None:
            settings.append(f"softcap {self.softcap:g}")
        if self.scale is not None:
            settings.append(f"scale {self.scale:g}")
        return ", ".join(sizes + settings)


MASK_SHAPES: tuple[MaskShape, ...] = ("full", "shared_by_heads", "shared_by_batch", "lengths", "keys_only")
MASK_SHAPES_OF_ONE_HEAD: tuple[MaskShape, ...] = ("full", "shared_by_batch", "lengths", "keys_only")
MASK_KINDS: tuple[MaskKind, ...] = ("random", "padding", "left_padding", "one_visible")


@dataclass(frozen=True)
class AttentionSpace(Space):
    """Cases of attention. `sometimes` means: drawn either way if the implementation has the feature.

    `queries`, `keys` and `heads` fix a size; the `least_*` bound it from below. With `keys_suffice` there are at least
    as many keys as queries. `grouped` requires several key/value heads with several query heads each. `also_causal`
    says that the law holds of causal attention too, though it is not about it: where every call is causal, it is tried.
    `ungrouped` says that the law needs a key/value head for each query head, where these have a number of their own.
    """

    mask: How = "never"
    mask_kinds: tuple[MaskKind, ...] = MASK_KINDS
    mask_shapes: tuple[MaskShape, ...] = MASK_SHAPES
    causal: How = "never"
    bias: How = "never"
    bias_shapes: tuple[MaskShape, ...] = ("full",)
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
    also_causal: bool = False
    ungrouped: bool = False

    def lacks(self, case: AttentionCase) -> set[str]:
        """Return which of the demands a case does not meet."""
        group = case.heads // case.kv_heads
        met = {
            "kv_heads": {"any": True, "one": case.kv_heads == 1 and group > 1, "all": group == 1}[self.kv_heads],
            "lengths": _are(self.lengths, case.query_length, case.key_length),
            "grouped": not self.grouped or (case.kv_heads > 1 and group > 1),
            "ungrouped": not self.ungrouped or group == 1,
            "heads": self.heads in (None, case.heads) and case.heads >= self.least_heads,
            "queries": case.query_length >= self.least_queries,
            "keys": case.key_length >= self.least_keys,
            "width": case.head_width >= self.least_width,
            "causal": not case.is_causal or self.causal != "never" or self.also_causal,
        }
        return {name for name, is_met in met.items() if not is_met}


def _are(lengths: str, queries: int, keys: int) -> bool:
    return {
        "any": True,
        "equal": queries == keys,
        "unequal": queries != keys,
        "keys_suffice": queries <= keys,
    }[lengths]


def suited(case: AttentionCase, _: str, limits: Limits) -> AttentionCase:
    """Return a case with equal widths if the operation takes no others, and with the heads that it has."""
    if limits.equal_widths:
        case = replace(case, value_width=case.head_width)
    if limits.operation not in (*GROUPED, *PROJECTED):
        case = replace(case, kv_heads=case.heads)
    return with_additions(case, limits.operation)


def with_additions(case: AttentionCase, operation: str) -> AttentionCase:
    """Return a case with the bias, or with the sinks, if an operation returns their gradient."""
    if operation not in ADDITIONS:
        return case
    return replace(case, bias=True) if ADDITIONS[operation] == "bias" else replace(case, sinks=True)
