"""Regimes: which kind of values a case is filled with. The samples of a batch may each have one of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

if TYPE_CHECKING:
    from veriformer.conformance_tests.drawing.case import MaskKind, Palette


@dataclass(frozen=True)
class Regime:
    """The values and mask of one sample: numbers of a palette times an amplitude, and a kind of mask."""

    palette: Palette
    amplitude: int = 1
    mask: MaskKind = "none"


@lru_cache(maxsize=256)
def samples_of(batch: int, kinds: tuple[str, ...], kind: str) -> Array:
    """Return the samples of a batch that have a kind, where samples take the kinds in turn."""
    has_it = np.array([one == kind for one in kinds])
    return np.flatnonzero(has_it[np.arange(batch) % len(kinds)])
