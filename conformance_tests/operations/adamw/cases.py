"""Cases of a step of AdamW."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import BatchableCase, Palette
from veriformer.conformance_tests.drawing.limits import LARGEST_AMPLITUDE, SEEDS, Limits
from veriformer.conformance_tests.drawing.regimes import Regime
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE, Space


@dataclass(frozen=True)
class StepCase(BatchableCase):
    """One call of `adamw_step`, on a parameter (batch, rows, width), with the moments of `step` − 1 earlier steps."""

    batch: int
    rows: int
    width: int
    dtype: str = "float32"
    palette: Palette = "bits"
    amplitude: int = 1
    step: int = 3
    learning_rate: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    eps: float = 1e-3
    weight_decay: float = 0.1
    seed: int = 0
    regimes: tuple[Regime, ...] = ()

    axes: ClassVar[tuple[str, ...]] = ("batch", "rows", "width")

    @property
    def numbers(self) -> int:
        return self.rows * self.width * 8

    def describe(self) -> str:
        sizes = f"shape ({self.batch}, {self.rows}, {self.width}), {self.dtype}, step {self.step}"
        rates = f"learning rate {self.learning_rate:g}, betas {self.beta1:g} and {self.beta2:g}, eps {self.eps:g}"
        return f"{sizes}, {rates}, weight decay {self.weight_decay:g}"


FIRST, LATER = (1,), (2, 3, 10, 100, 1000)


@dataclass(frozen=True)
class StepSpace(Space):
    """Cases of `adamw_step`."""

    steps: tuple[int, ...] = (*FIRST, *LATER)
    learning_rates: tuple[float, ...] = (0.5, 0.1, 0.01, 0.001)
    weight_decays: tuple[float, ...] = (0.1, 0.5, 0.01, 0.0)
    eps: tuple[float, ...] = (1e-3, 1e-8, 1e-6, 1e-1)
    palettes: tuple[Palette, ...] = EVERY_PALETTE
    amplitudes: tuple[int, ...] = (1, 4)


Sizes = tuple[int, int, int]
Betas = tuple[float, float]
# No two axes alike, because a framework that compiles gets no others.
_POOL: tuple[Sizes, ...] = ((2, 3, 5), (3, 2, 1), (1, 4, 17))
_SMALL: tuple[Sizes, ...] = tuple(product((1, 2), (1, 2), (1, 2)))
_FREE: tuple[Sizes, ...] = tuple(product((1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 7, 8, 9, 17, 65)))
_BETAS: tuple[Betas, ...] = ((0.9, 0.999), (0.9, 0.95), (0.5, 0.75), (0.8, 0.99), (0.95, 0.9))
# In float16 a smaller eps is 0, so that a gradient that was always 0 is divided by 0.
_LEAST_EPS = {"float16": 1e-3}


def step_cases(space: StepSpace, limits: Limits) -> choices.Choice[StepCase]:
    """Return cases of `adamw_step`."""
    return choices.builds(
        _step_case,
        limits.sizes_and_dtypes(_POOL, _SMALL, _FREE),
        choices.sampled_from(tuple(product(space.amplitudes, space.palettes))),
        choices.sampled_from(space.steps),
        choices.tuples(choices.sampled_from(space.learning_rates), choices.sampled_from(space.weight_decays)),
        choices.sampled_from(_BETAS),
        choices.sampled_from(space.eps),
        SEEDS,
    )


def _step_case(
    given: tuple[Sizes, str],
    regime: tuple[int, Palette],
    step: int,
    rates: tuple[float, float],
    betas: Betas,
    eps: float,
    seed: int,
) -> StepCase:
    (batch, rows, width), dtype = given
    amplitude, palette = regime
    return StepCase(
        batch=batch,
        rows=rows,
        width=width,
        dtype=dtype,
        palette=palette,
        amplitude=min(amplitude, LARGEST_AMPLITUDE[dtype]),
        step=step,
        learning_rate=rates[0],
        beta1=betas[0],
        beta2=betas[1],
        eps=max(eps, _LEAST_EPS.get(dtype, 0.0)),
        weight_decay=rates[1],
        seed=seed,
    )
