"""The global random state of a process: the numbers that a user's code draws must not differ from run to run."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def kept() -> Iterator[None]:
    """Leave the random state of Python, NumPy and torch as it is now, whatever draws from it."""
    python, numpy, torch = random.getstate(), np.random.get_state(), _torch()
    of_torch = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if torch is not None:
            torch.set_rng_state(of_torch)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Start Python's, NumPy's and torch's random numbers at a seed, and leave their state as it is now."""
    with kept():
        random.seed(seed)
        np.random.seed(seed)
        torch = _torch()
        if torch is not None:
            torch.default_generator.manual_seed(seed)
        yield


def _torch() -> Any:
    # An import that failed may have left a part of torch behind.
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "default_generator") else None
