"""Cases of encoder and decoder layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal, Self

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space
from veriformer.conformance_tests.operations.feed_forward.cases import Activation

PaddingSide = Literal["none", "right", "left"]


@dataclass(frozen=True)
class LayerCase(BatchableCase):
    """One call of `encoder_layer` or `decoder_layer`; an encoder has no memory, and `memory` is 0.

    `width` is that of a head, so that E = heads · width; `hidden` is F.
    """

    batch: int
    heads: int
    length: int
    width: int
    hidden: int
    memory: int = 0
    norm_first: bool = False
    activation: Activation = "relu"
    biases: bool = False
    padding: PaddingSide = "none"
    memory_padding: PaddingSide = "none"
    eps: float = 1e-5
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    is_costly: ClassVar[bool] = True

    @property
    def d_model(self) -> int:
        """E."""
        return self.heads * self.width

    @property
    def size(self) -> int:
        return self.batch + self.heads + self.length + self.memory + 2 * self.width + self.hidden

    @property
    def numbers(self) -> int:
        logits = self.heads * self.length * (self.length + self.memory) * (self.width + 2)
        return logits + self.length * (4 * self.d_model + self.hidden) * 2

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        free = getattr(space, "place", "any") == "any"
        heads = fixed.size("num_heads", self.heads, getattr(space, "least_heads", 1))
        d_model = fixed.number("d_model")
        width = self.width if d_model is None or d_model % heads else d_model // heads
        return replace(
            self,
            heads=heads,
            width=width,
            length=fixed.length(self.length, getattr(space, "least_length", 1)),
            memory=fixed.length(self.memory, getattr(space, "least_memory", 1)) if self.memory else 0,
            norm_first=fixed.one_of("norm_first", self.norm_first, self.seed) if free else self.norm_first,
            activation=fixed.activation(self.activation, self.seed, space),
            biases=fixed.biases(self.biases, self.seed, space),
            hidden=fixed.hidden(self.hidden, heads * width),
            eps=fixed.one_of("eps", self.eps, self.seed),
        )

    def describe(self) -> str:
        sizes = f"batch {self.batch}, heads {self.heads}, L = {self.length}"
        memory = f", S = {self.memory}" if self.memory else ""
        place = "pre-norm" if self.norm_first else "post-norm"
        settings = [f"{sizes}{memory}, E = {self.d_model}, F = {self.hidden}, {place}, {self.activation}, {self.dtype}"]
        settings += ["biases"] if self.biases else []
        settings += [f"padded on the {self.padding}"] if self.padding != "none" else []
        settings += [f"memory padded on the {self.memory_padding}"] if self.memory_padding != "none" else []
        return ", ".join(settings)


@dataclass(frozen=True)
class LayerSpace(Space):
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


# Batch, heads, length, width of a head, hidden units, memory.
Sizes = tuple[int, int, int, int, int, int]
Flags = dict[str, Any]


@dataclass(frozen=True)
class Compiled:
    """Everything that a framework compiles for; a law's space may overrule the flags."""

    sizes: Sizes
    flags: Flags


# As unlike as can be, because each costs compilations.
_POOL = (
    Compiled(
        (2, 2, 3, 4, 5, 4),
        {"padding": "right", "memory_padding": "left", "biases": True, "activation": "gelu", "norm_first": False},
    ),
    Compiled(
        (3, 2, 4, 3, 7, 2),
        {"padding": "left", "memory_padding": "right", "biases": False, "activation": "silu", "norm_first": True},
    ),
    Compiled(
        (1, 1, 7, 6, 4, 9),
        {"padding": "none", "memory_padding": "none", "biases": True, "activation": "relu", "norm_first": True},
    ),
)
_SMALL: tuple[Sizes, ...] = tuple(
    sorted(product((1, 2), (1, 2), (1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3)), key=lambda sizes: (sum(sizes), sizes))
)
# Smallest first, which is where shrinking leads.
_FREE: tuple[Sizes, ...] = tuple(
    sorted(
        (
            *product((1, 2, 3), (1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 5), (1, 2, 7), (1, 2, 5)),
            *product((2,), (2, 4), (9, 17), (2, 8), (16, 33), (3, 9, 17)),
        ),
        key=lambda sizes: (sum(sizes), sizes),
    )
)
_WISHES: dict[How, tuple[bool, ...]] = {"never": (False,), "sometimes": (False, True), "always": (True,)}
_PLACES: dict[str, tuple[bool, ...]] = {"pre": (True,), "post": (False,), "any": (False, True)}
_EPS = (1e-5, 1e-3, 1e-1)


def layer_cases(space: LayerSpace, limits: Limits) -> choices.Choice[LayerCase]:
    """Return cases of a layer; what belongs together is drawn together, as for attention."""
    flags = _flags(space, limits)
    compiled: choices.Choice[tuple[Sizes, Flags, str]]
    if limits.compiles_per_shape and not limits.small:
        compiled = choices.sampled_from(_pooled(flags, limits))
    else:
        sizes = choices.sampled_from(_SMALL if limits.small else _FREE)
        settings = choices.in_some_order(product(flags, limits.dtypes), limits.seed)
        compiled = choices.builds(lambda size, chosen: (size, *chosen), sizes, settings)
    values = choices.sampled_from(tuple(product(space.amplitudes, space.palettes, _EPS)))
    return choices.builds(
        lambda given, regime, seed: _case(space, limits, given, regime, seed), compiled, values, SEEDS
    )


def _pooled(flags: list[Flags], limits: Limits) -> list[tuple[Sizes, Flags, str]]:
    """Return the few combinations that a law compiles; another law has others, so that a run meets them all."""
    return [
        (
            _POOL[at % len(_POOL)].sizes,
            _nearest(_POOL[at % len(_POOL)].flags, flags),
            dtype,
        )
        for at, dtype in zip(limits.places, limits.dtypes_in_turn, strict=True)
    ]


def _nearest(wanted: Flags, offered: list[Flags]) -> Flags:
    """Return the combination that the space allows which has most in common with the pool's."""
    return max(offered, key=lambda flags: sum(flags[name] == value for name, value in wanted.items()))


def _flags(space: LayerSpace, limits: Limits) -> list[Flags]:
    """Return every combination of settings that the space leaves open, the plainest first."""
    sides = {
        name: _sides(how, space.padding_sides if name == "padding_mask" else ("right", "left"), name in limits.features)
        for name, how in (("padding_mask", space.padding), ("memory_padding_mask", space.memory_padding))
    }
    combinations = product(
        sides["padding_mask"],
        sides["memory_padding_mask"],
        _WISHES[space.biases],
        space.activations,
        _PLACES[space.place],
    )
    names = ("padding", "memory_padding", "biases", "activation", "norm_first")
    return [dict(zip(names, combination, strict=True)) for combination in combinations]


def _sides(how: How, sides: tuple[PaddingSide, ...], offered: bool) -> tuple[PaddingSide, ...]:
    if how == "never" or not offered:
        return ("none",)
    return sides if how == "always" else ("none", *sides)


def _case(
    space: LayerSpace,
    limits: Limits,
    given: tuple[Sizes, Flags, str],
    regime: tuple[int, Palette, float],
    seed: int,
) -> LayerCase:
    (batch, heads, length, width, hidden, memory), flags, dtype = given
    amplitude, palette, eps = regime
    heads = max(heads, space.least_heads)
    # Padding needs a position that is not real, and a norm two components.
    length = space.length or max(length, space.least_length, 1 if flags["padding"] == "none" else 2)
    memory = space.memory or max(memory, space.least_memory, 1 if flags["memory_padding"] == "none" else 2)
    return LayerCase(
        batch=max(batch, space.least_batch),
        heads=heads,
        length=length,
        width=max(width, 2) if heads == 1 else width,
        hidden=hidden,
        memory=memory if limits.operation.startswith("decoder_layer") else 0,
        eps=eps,
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        seed=seed,
        **flags,
    )


def suited(case: LayerCase, key: str, _: Limits) -> LayerCase:
    """Return a case with its norms in the place that the law needs."""
    return replace(case, norm_first=key.startswith("pre_norm"))
