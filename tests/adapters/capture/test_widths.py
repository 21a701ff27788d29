"""Inputs of the width that a model asks for in the exception that it raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.capture.widths import of_wanted_width


@pytest.mark.parametrize(
    ("message", "widths"),
    (
        ("mat1 and mat2 shapes cannot be multiplied (55x31 and 12x24)", [5]),
        (
            "Given normalized_shape=[12], expected input with shape [*, 12], but got input of size[5, 11, 31]",
            [5],
        ),
        ("matmul: mismatch in its core dimension 0 (size 12 is different from 24)", [12]),
        ("dot_general requires contracting dimensions to have the same shape, got (48,) and (24,).", [12]),
        ("it cannot be", []),
        ("mat1 and mat2 shapes cannot be multiplied (55x31 and 2x24)", []),
    ),
)
def test_the_width_follows_from_what_was_wanted(message: str, widths: list[int]) -> None:
    vectors = np.zeros((5, 11, 24))
    assert [one.shape for one in of_wanted_width(vectors, message)] == [(5, 11, width) for width in widths]


def test_tokens_have_no_width() -> None:
    assert not list(of_wanted_width(np.zeros((5, 11), dtype=int), "size 12 is different from 11"))


@pytest.mark.parametrize("joined", (0, 7))
def test_a_model_that_joins_its_input_with_features_of_its_own_runs(joined: int) -> None:
    torch = pytest.importorskip("torch")

    class Joining(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.latents = torch.nn.Parameter(torch.randn(6, 24))
            self.norm, self.map = torch.nn.LayerNorm(5 + joined), torch.nn.Linear(5 + joined, 24)

        def forward(self, data: Any) -> Any:
            batch, length, _ = data.shape
            features = torch.ones(batch, length, joined)
            return self.latents.sum() + self.map(self.norm(torch.cat((data, features), -1)))

    trace = recorded_pass(find_model(Joining(), "model"), seed=0).trace
    assert trace.values[trace.inputs[0]].array.shape[-1] == 5
