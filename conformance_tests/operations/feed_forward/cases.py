"""Cases of feed-forward networks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Literal, Self

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, How, Space

Activation = Literal["relu", "gelu", "silu"]


@dataclass(frozen=True)
class FeedForwardCase(BatchableCase):
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

    axes: ClassVar[tuple[str, ...]] = ("batch", "rows", "width", "hidden")

    @property
    def numbers(self) -> int:
        return self.rows * (self.width + self.hidden) * 2

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        width = fixed.size("d_model", self.width)
        return replace(
            self,
            width=width,
            activation=fixed.activation(self.activation, self.seed, space),
            biases=fixed.biases(self.biases, self.seed, space),
            hidden=fixed.hidden(self.hidden, width, getattr(space, "least_hidden", 1)),
        )

    def describe(self) -> str:
        biases = ", biases" if self.biases else ""
        sizes = f"batch {self.batch}, rows {self.rows}, E = {self.width}, F = {self.hidden}"
        return f"{sizes}, {self.activation}{biases}, {self.dtype}"


@dataclass(frozen=True)
class FeedForwardSpace(Space):
    """Cases of feed-forward networks."""

    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)
    activations: tuple[Activation, ...] = ("relu", "gelu", "silu")
    biases: How = "sometimes"
    least_rows: int = 1
    least_hidden: int = 1


_NETWORKS = ((2, 3, 4, 5), (1, 2, 3, 7), (3, 2, 5, 1), (2, 3, 2, 17))


def feed_forward_cases(space: FeedForwardSpace, limits: Limits) -> choices.Choice[FeedForwardCase]:
    """Return cases of feed-forward networks; a gated one has no biases."""
    wishes: dict[How, tuple[bool, ...]] = {"never": (False,), "sometimes": (False, True), "always": (True,)}
    biases = (False,) if limits.operation.startswith("gated") else wishes[space.biases]
    values = choices.sampled_from(tuple(product(space.palettes, space.amplitudes)))
    settings = tuple(product(space.activations, biases, limits.dtypes))
    any_setting = choices.sampled_from(settings)
    if limits.compiles_per_shape and not limits.small:
        common, rare = choices.sampled_from(_NETWORKS[:1]), _NETWORKS[1:][(limits.turn or 0) % len(_NETWORKS[1:])]
        own = choices.sampled_from([(rare, settings[limits.seed % len(settings)])])
        given = choices.one_of(choices.tuples(common, any_setting), own)
    elif limits.small:
        given = choices.tuples(choices.tuples(*[choices.integers(1, 2)] * 4), any_setting)
    else:
        few, wide = choices.integers(1, 3), choices.one_of(choices.integers(1, 9), choices.sampled_from((16, 17, 33)))
        given = choices.tuples(choices.tuples(few, few, wide, wide), any_setting)
    return choices.builds(lambda *drawn: _feed_forward_case(space, *drawn), given, values, SEEDS)


def _feed_forward_case(
    space: FeedForwardSpace,
    given: tuple[tuple[int, int, int, int], tuple[Activation, bool, str]],
    values: tuple[Palette, int],
    seed: int,
) -> FeedForwardCase:
    (batch, rows, width, hidden), (activation, biases, dtype) = given
    palette, amplitude = values
    return FeedForwardCase(
        batch,
        max(rows, space.least_rows),
        width,
        max(hidden, space.least_hidden),
        activation=activation,
        biases=biases,
        dtype=dtype,
        palette=palette,
        # A gated network multiplies two products: float16 would overflow.
        amplitude=min(amplitude, 2) if dtype == "float16" else amplitude,
        seed=seed,
    )
