"""Cases of the cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case, Palette
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space

IgnoreKind = Literal["none", "outside", "minus_one", "inside"]
Reduction = Literal["mean", "sum", "none"]


@dataclass(frozen=True)
class LossCase(Case):
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

    axes: ClassVar[tuple[str, ...]] = ("batch", "length", "classes")

    def describe(self) -> str:
        settings = [f"batch {self.batch}", f"L = {self.length}", f"N = {self.classes}", self.dtype]
        if self.ignore != "none":
            settings.append(f"ignored value {self.ignore.replace('_', ' ')}")
        if self.label_smoothing is not None:
            settings.append(f"label smoothing {self.label_smoothing:g}")
        if self.reduction is not None:
            settings.append(f"reduction {self.reduction}")
        return ", ".join(settings)


REDUCTIONS: tuple[Reduction | None, ...] = (None, "mean", "sum", "none")
IGNORE_KINDS: tuple[IgnoreKind, ...] = ("outside", "minus_one", "inside")


@dataclass(frozen=True)
class LossSpace(Space):
    """Cases of `cross_entropy`; if a target is ignored another is kept, so that there are at least two. A reduction of
    None is the default. Smoothed cases stay small: torch sums over all classes and positions before it divides, and
    float16 ends at 65504.
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


# Batch, length, classes: no two axes alike, because a framework that compiles gets no others.
_POOL = ((2, 3, 5), (3, 4, 2), (1, 7, 17), (2, 3, 1), (1, 1, 3), (2, 4, 65))
_SMALL: tuple[tuple[int, int, int], ...] = tuple(product((1, 2), (1, 2, 3), (1, 2, 3)))
_CLASSES = (1, 2, 3, 4, 5, 7, 8, 9, 17, 33, 65)
# One target alone is a case like no other, which a run must meet though few sizes are it.
_FREE: tuple[tuple[int, int, int], ...] = (
    *2 * tuple(product((1,), (1,), _CLASSES)),
    *product((1, 2, 3), (1, 2, 3, 4, 7), _CLASSES),
)
Options = tuple[IgnoreKind, float | None, Reduction | None]
Compiled = tuple[tuple[int, int, int], Options, str]


def loss_cases(space: LossSpace, limits: Limits) -> choices.Choice[LossCase]:
    """Return cases of `cross_entropy`; what belongs together is drawn together, as for attention."""
    options = _options(space, limits)
    compiled: choices.Choice[Compiled]
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from(_pooled(options, limits))
    else:
        sizes = _SMALL if limits.small else _FREE
        compiled = choices.tuples(
            choices.sampled_from(sizes), choices.sampled_from(options), choices.sampled_from(limits.dtypes)
        )
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes)))
    return choices.builds(lambda given, regime, seed: _loss_case(space, given, regime, seed), compiled, values, SEEDS)


def _pooled(options: list[Options], limits: Limits) -> list[Compiled]:
    """Return the few combinations that a law compiles; another law has others, so that a run meets them all."""
    return [
        (_POOL[at % len(_POOL)], options[at % len(options)], dtype)
        for at, dtype in zip(limits.places, limits.dtypes_in_turn, strict=True)
    ]


def _options(space: LossSpace, limits: Limits) -> list[Options]:
    """Return every combination of optional inputs that the space leaves open, the plainest first."""
    kinds: tuple[IgnoreKind, ...] = ("none",) if space.ignore != "always" else ()
    if space.ignore != "never" and "ignore_index" in limits.features:
        kinds += IGNORE_KINDS
    shares: tuple[float | None, ...] = (None,) if space.smoothing != "always" else ()
    if space.smoothing != "never" and "label_smoothing" in limits.features:
        shares += space.shares
    reductions = tuple(one for one in space.reductions if one is None or "reduction" in limits.features)
    return list(product(kinds, shares, reductions))


def _loss_case(space: LossSpace, given: Compiled, regime: tuple[int, Palette], seed: int) -> LossCase:
    (batch, length, classes), (ignore, smoothing, reduction), dtype = given
    amplitude, palette = regime
    length = max(length, space.least_length)
    return LossCase(
        batch=max(batch, space.least_batch),
        # Where a target is ignored another is kept, and a kept target needs another class than the ignored one.
        length=2 if ignore != "none" and batch * length == 1 else length,
        classes=max(classes, space.least_classes, 2 if ignore == "inside" else 1),
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        ignore=ignore,
        label_smoothing=smoothing,
        reduction=reduction,
        seed=seed,
    )
