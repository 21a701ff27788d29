"""Cases of dropout and of its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, Space

# Whether the flag is True, False, or left out.
Training = bool | None


@dataclass(frozen=True)
class DropoutCase(BatchableCase):
    """One call of `dropout`, on entries (batch, rows, width); `mask_seed` is the seed that the operation is given."""

    batch: int
    rows: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    rate: float = 0.25
    training: Training = None
    mask_seed: int = 0
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    axes: ClassVar[tuple[str, ...]] = ("batch", "rows", "width")

    @property
    def numbers(self) -> int:
        return self.rows * self.width * 2

    def describe(self) -> str:
        mode = {None: "", True: ", in training", False: ", in evaluation"}[self.training]
        sizes = f"shape ({self.batch}, {self.rows}, {self.width}), {self.dtype}"
        return f"{sizes}, rate {self.rate:g}, seed {self.mask_seed}{mode}"


@dataclass(frozen=True)
class ManyEntriesCase(DropoutCase):
    """A case with so many entries that chance decides little about their number of zeros."""


IN_TRAINING: tuple[Training, ...] = (None, True)
RATES = (0.25, 0.1, 0.5, 0.8)


@dataclass(frozen=True)
class DropoutSpace(Space):
    """Cases of `dropout`; `many` are those of laws about chance, which have the same size in every run."""

    rates: tuple[float, ...] = RATES
    training: tuple[Training, ...] = IN_TRAINING
    many: bool = False
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)


Sizes = tuple[int, int, int]
_POOL: tuple[Sizes, ...] = ((2, 3, 5), (3, 2, 17), (1, 4, 3))
_SMALL: tuple[Sizes, ...] = tuple(product((1, 2), (1, 2), (1, 2, 3)))
_FREE: tuple[Sizes, ...] = tuple(product((1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 7, 8, 9, 17, 65)))
# Two samples have 256 entries each, two rows or columns 128.
MANY: Sizes = (8, 16, 16)
_SEEDS_OF_MASKS = (1, 0, 2, 42, 1234, 20_000_001)


def dropout_cases(space: DropoutSpace, limits: Limits) -> choices.Choice[DropoutCase]:
    """Return cases of `dropout`; without the flag it is left out."""
    given = limits.sizes_and_dtypes(_POOL, _SMALL, _FREE)
    if space.many:
        given = choices.sampled_from([(MANY, dtype) for dtype in limits.dtypes])
    training = space.training if "training" in limits.features else (None,)
    return choices.builds(
        lambda *drawn: _dropout_case(ManyEntriesCase if space.many else DropoutCase, *drawn),
        given,
        choices.sampled_from(tuple(product(space.amplitudes, space.palettes))),
        choices.sampled_from(space.rates),
        choices.sampled_from(training),
        choices.sampled_from(_SEEDS_OF_MASKS),
        SEEDS,
    )


def _dropout_case(
    kind: type[DropoutCase],
    given: tuple[Sizes, str],
    regime: tuple[int, Palette],
    rate: float,
    training: Training,
    mask_seed: int,
    seed: int,
) -> DropoutCase:
    (batch, rows, width), dtype = given
    amplitude, palette = regime
    amplitude = min(amplitude, LARGEST_AMPLITUDE[dtype])
    return kind(batch, rows, width, dtype, palette, amplitude, rate, training, mask_seed, seed)
