"""Files of strangers, loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.asked import Asked
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load

_ATTENTION = """
import torch
import math


def {name}({signature}):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    {mask}
    weights = torch.softmax(scores, dim=-1)
    return {result}
"""


@pytest.fixture
def attention() -> Callable[..., str]:
    """Return the text of an attention of torch, with another name, signature, mask or result."""

    def text(
        name: str = "attention", signature: str = "q, k, v, mask=None", mask: str = "pass", result: str = "weights @ v"
    ) -> str:
        return _ATTENTION.format(name=name, signature=signature, mask=mask, result=result)

    return text


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Implementation]:
    """Return the implementation that the text of a file is."""

    def load_text(text: str, asked: Asked | None = None) -> Any:
        file = tmp_path / "mine.py"
        file.write_text(text)
        return load(str(file), *([asked] if asked else []))

    return load_text
