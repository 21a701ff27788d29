"""Batches: many independent cases in one call, each sample with a value regime of its own, and samples taken out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from veriformer.conformance_tests.drawing.case import BatchableCase, Case
from veriformer.conformance_tests.drawing.rarity import RareCase
from veriformer.conformance_tests.drawing.regimes import Regime

# A call costs as much again, in a law's own arithmetic, where it works on about so many numbers.
_NUMBERS = 2**15
_MOST_SAMPLES = 256
# Where each sample is a call of its own, a batch is as dear as so many calls.
_FEW = 16
_FEW_SAMPLES = (1, 2, 3)


@dataclass(frozen=True)
class TakenOut:
    """Some samples of a batch: the smallest case with the numbers that broke a law."""

    whole: BatchableCase
    samples: tuple[int, ...]

    @property
    def seed(self) -> int:
        """The seed of the batch."""
        return self.whole.seed

    @property
    def dtype(self) -> str:
        """The dtype of the batch."""
        return self.whole.dtype

    @property
    def size(self) -> int:
        """How much there is to read."""
        return self.whole.size - self.whole.batch + len(self.samples)

    def describe(self) -> str:
        """Return the sizes and settings in one line."""
        first, last = self.samples[0], self.samples[-1]
        which = f"sample {first}"
        if last > first:
            follow = self.samples == tuple(range(first, last + 1))
            which = f"samples {first} to {last}" if follow else f"samples {', '.join(map(str, self.samples))}"
        return f"{which} of: {self.whole.describe()}"

    def as_cases(self) -> Iterator[Case]:
        """Yield ordinary cases of its sizes, with one sample or a few, in the regimes of its samples."""
        regimes = self.whole.regimes
        for sample in self.samples if regimes else ():
            one = regimes[sample % len(regimes)]
            changed: dict[str, Any] = {"regimes": (), "palette": one.palette, "amplitude": one.amplitude}
            if hasattr(self.whole, "mask"):
                changed["mask"] = one.mask
            yield from (replace(self.whole, **{**changed, "batch": batch}) for batch in _FEW_SAMPLES)


AnyCase = Case | TakenOut | RareCase


def batched(case: Case, others: Iterable[Case], *, few: bool = False) -> Case:
    """Return a case with as many samples as one call carries at little cost, in the regimes of the others too.

    A case that is not filled with numbers, or too large for more samples, stays as it is; so does a single sample,
    because some mistakes occur only with a batch of one. `few` limits the samples where each is a call of its own.
    """
    if not isinstance(case, BatchableCase) or case.batch == 1:
        return case
    samples = min(_FEW if few else _MOST_SAMPLES, _NUMBERS // max(case.numbers, 1))
    if samples <= case.batch:
        return case
    alike = [other for other in others if isinstance(other, BatchableCase) and _alike(case, other)]
    regimes = dict.fromkeys(map(regime_of, [case, *alike]))
    changed: dict[str, Any] = {"batch": samples, "regimes": tuple(regimes)[:samples]}
    return replace(case, **changed)


def cases_in(case: AnyCase | None) -> int:
    """Return how many independent cases a case represents: each sample with a regime of its own is one."""
    return case.batch if isinstance(case, BatchableCase) and case.regimes else 1


def regime_of(case: BatchableCase) -> Regime:
    """Return the regime of a case."""
    return _regime(case.palette, case.amplitude, getattr(case, "mask", "none"))


# A run asks for a few dozen of them a hundred thousand times.
_regime = lru_cache(maxsize=256)(Regime)


def reseeded(case: AnyCase, seed: int) -> AnyCase:
    """Return a case of the same sizes with other values."""
    changed: dict[str, Any] = {"seed": seed}
    if isinstance(case, TakenOut):
        return replace(case, whole=replace(case.whole, **changed))
    if isinstance(case, RareCase):
        return replace(case, whole=replace(case.whole, **changed))
    return replace(case, **changed)


def _alike(case: BatchableCase, other: BatchableCase) -> bool:
    """Return whether a sample may be filled as another case: the dtype bounds amplitudes, there is a mask or not."""
    return case.dtype == other.dtype and (regime_of(case).mask == "none") == (regime_of(other).mask == "none")
