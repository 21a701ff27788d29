"""The arrays that cases, calls and verdicts are made of: NumPy's, of any shape and dtype."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

__all__ = ["Array"]

Array: TypeAlias = np.ndarray
