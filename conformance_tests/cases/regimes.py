"""Regimes: which kind of values a case is filled with. The samples of a batch may each have one of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from veriformer.conformance_tests.cases.case import MaskKind, Palette

Array = np.ndarray
_EXACT = ("bits", "integers")


@dataclass(frozen=True)
class Regime:
    """What one sample is filled with: numbers of a palette times an amplitude, behind a mask of a kind."""

    palette: Palette
    amplitude: int = 1
    mask: MaskKind = "none"


class Filled(Protocol):
    """A case that is filled with numbers; of several `regimes` the samples of its batch take one after the other."""

    @property
    def batch(self) -> int:
        """The number of samples."""
        ...

    @property
    def dtype(self) -> str:
        """What the numbers are rounded to."""
        ...

    @property
    def palette(self) -> Palette:
        """The palette of all samples where there are no `regimes`."""
        ...

    @property
    def amplitude(self) -> int:
        """The amplitude of all samples where there are no `regimes`."""
        ...

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """The regimes of the samples, in turn; none where all samples have the same."""
        ...


@lru_cache(maxsize=256)
def samples_of(batch: int, kinds: tuple[str, ...]) -> tuple[tuple[str, Array], ...]:
    """Return each kind with the samples of a batch that have it, where samples take the kinds in turn."""
    taken = np.resize(np.array(kinds), batch)
    return tuple((kind, np.flatnonzero(taken == kind)) for kind in dict.fromkeys(kinds) if kind in taken)


def is_exact(case: Filled) -> bool:
    """Return whether all samples are filled with small integers, so that weights may be integers too."""
    return all(palette in _EXACT for palette in (case.palette, *(regime.palette for regime in case.regimes)))
