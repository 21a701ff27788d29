"""The small models of this folder, which tests import by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from small_models import LENGTH, TOKENS, converted, gpt  # noqa: E402
from small_numpy import port  # noqa: E402
from veriformer.conformance_tests.ports.compare_models import compare_models  # noqa: E402
from veriformer.conformance_tests.ports.findings import PortComparison  # noqa: E402

Port = Callable[..., PortComparison]


@pytest.fixture(scope="session")
def tokens() -> np.ndarray[Any, np.dtype[np.int64]]:
    """Two sequences."""
    return np.random.default_rng(0).integers(0, TOKENS, (2, LENGTH - 1))


@pytest.fixture
def ported(tokens: Any) -> Iterator[Port]:
    """Return a function that compares the GPT with its port to NumPy, whose weights `change` may change."""

    def compared(change: Callable[[dict[str, Any]], object] = lambda _: None, **mistakes: Any) -> PortComparison:
        model = gpt()
        parameters = converted(model)
        change(parameters)
        return compare_models(model, (port(**mistakes), parameters), tokens)

    return compared
