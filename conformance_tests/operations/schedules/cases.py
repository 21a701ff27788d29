"""Cases of schedules of the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import SEEDS, Limits
from veriformer.conformance_tests.drawing.space import Space

# Where a step lies: before the warm-up ends, at its end, between that and the end, at the end, beyond it.
Stage = Literal["warmup", "top", "decay", "end", "beyond"]
EVERY_STAGE: tuple[Stage, ...] = ("warmup", "decay", "top", "end", "beyond")
AFTER_WARMUP: tuple[Stage, ...] = ("decay", "top", "end", "beyond")


@dataclass(frozen=True)
class CosineCase(Case):
    """One call of `warmup_cosine_learning_rate`."""

    step: int
    warmup_steps: int
    total_steps: int
    peak: float = 1.0
    least: float = 0.1
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("step", "warmup_steps", "total_steps")

    def describe(self) -> str:
        steps = f"step {self.step}, {self.warmup_steps} of {self.total_steps} steps of warm-up"
        return f"{steps}, from {self.peak:g} to {self.least:g}"


@dataclass(frozen=True)
class CosineSpace(Space):
    """Cases of `warmup_cosine_learning_rate`: a stage before the end of the warm-up needs at least one step of it."""

    stages: tuple[Stage, ...] = EVERY_STAGE
    least_warmup_steps: int = 0


@dataclass(frozen=True)
class RootCase(Case):
    """One call of `warmup_inverse_root_learning_rate`."""

    step: int
    d_model: int
    warmup_steps: int
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("step", "d_model", "warmup_steps")

    def describe(self) -> str:
        return f"step {self.step}, d_model {self.d_model}, {self.warmup_steps} steps of warm-up"


@dataclass(frozen=True)
class RootSpace(Space):
    """Cases of `warmup_inverse_root_learning_rate`."""

    stages: tuple[Stage, ...] = ("warmup", "decay", "top")


_WARMUPS = (0, 1, 2, 3, 10, 100, 2000)
_DECAYS = (1, 2, 3, 4, 7, 10, 1000, 30000)
_RATES = ((1.0, 0.1), (1.0, 0.0), (0.5, 0.15), (6e-4, 6e-5), (3e-3, 0.0), (0.01, 0.01))
_WIDTHS = (1, 2, 3, 16, 64, 512, 768, 4096)
_SMALL = 4


def cosine_cases(space: CosineSpace, limits: Limits) -> choices.Choice[CosineCase]:
    """Return cases of `warmup_cosine_learning_rate`."""
    warmups, decays = ([size for size in sizes if size <= _SMALL or not limits.small] for sizes in (_WARMUPS, _DECAYS))
    return choices.builds(
        lambda *drawn: _cosine_case(space, *drawn),
        choices.sampled_from(space.stages),
        choices.sampled_from(warmups),
        choices.sampled_from(decays),
        choices.sampled_from(_RATES),
        choices.sampled_from(limits.dtypes),
        SEEDS,
    )


def _cosine_case(
    space: CosineSpace, stage: Stage, warmup: int, decay: int, rates: tuple[float, float], dtype: str, seed: int
) -> CosineCase:
    warmup = max(warmup, space.least_warmup_steps, 1 if stage == "warmup" else 0)
    # A cosine of one step has no step between its ends.
    decay = max(decay, 2 if stage == "decay" else 1)
    total = warmup + decay
    step = {
        "warmup": seed % max(warmup, 1),
        "top": warmup,
        "decay": warmup + 1 + seed % max(decay - 1, 1),
        "end": total,
        "beyond": total + 1 + seed % (2 * decay),
    }[stage]
    return CosineCase(step, warmup, total, *rates, dtype, seed)


def root_cases(space: RootSpace, limits: Limits) -> choices.Choice[RootCase]:
    """Return cases of `warmup_inverse_root_learning_rate`."""
    warmups, widths = (
        [size for size in sizes if 0 < size <= _SMALL or (size and not limits.small)] for sizes in (_WARMUPS, _WIDTHS)
    )
    return choices.builds(
        _root_case,
        choices.sampled_from(space.stages),
        choices.sampled_from(widths),
        choices.sampled_from(warmups),
        choices.sampled_from(limits.dtypes),
        SEEDS,
    )


def _root_case(stage: Stage, d_model: int, warmup: int, dtype: str, seed: int) -> RootCase:
    # A warm-up of one step has none before its end.
    warmup = max(warmup, 2 if stage == "warmup" else 1)
    steps: dict[Stage, int] = {
        "warmup": 1 + seed % max(warmup - 1, 1),
        "top": warmup,
        "decay": warmup + 1 + seed % (4 * warmup),
    }
    return RootCase(steps[stage], d_model, warmup, dtype, seed)
