"""A model that returns a record of no registered kind: its arrays are the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.outputs import arrays_of


@dataclass
class Output:
    logits: Any
    loss: Any = None
    past_key_values: Any = None


class Bag:
    """An object that only holds what it is given."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits


RECORDS = (Output, Bag, lambda logits: SimpleNamespace(scores=logits), lambda logits: {"output": Output(logits)})


class Classifier(torch.nn.Module):
    def __init__(self, record: Any) -> None:
        super().__init__()
        self.head, self.record = torch.nn.Linear(8, 5), record

    def forward(self, x: torch.Tensor) -> Any:
        return self.record(self.head(torch.nn.functional.layer_norm(x, (8,))))


@pytest.mark.parametrize("record", RECORDS)
def test_records_of_torch(record: Any) -> None:
    trace = capture_model(Classifier(record), np.ones((2, 3, 8)), seed=0)
    assert [trace.values[index].array.shape for index in trace.outputs] == [(2, 3, 5)]


@pytest.mark.parametrize("record", RECORDS)
def test_records_of_jax(record: Any) -> None:
    def forward(params: Any, x: Any) -> Any:
        return record(jnp.tanh(x) @ params["head"])

    trace = capture_model((forward, {"head": jnp.ones((8, 5))}), np.ones((2, 3, 8)), seed=0)
    assert [trace.values[index].array.shape for index in trace.outputs] == [(2, 3, 5)]


class Numbers:
    def __init__(self, record: Any) -> None:
        self.head, self.record = np.ones((8, 5)), record

    def __call__(self, x: np.ndarray) -> Any:
        return self.record(np.tanh(x) @ self.head)


@pytest.mark.parametrize("record", RECORDS)
def test_records_of_numpy(record: Any) -> None:
    trace = capture_model(Numbers(record), np.ones((2, 3, 8)), seed=0)
    assert [trace.values[index].array.shape for index in trace.outputs] == [(2, 3, 5)]


def test_an_object_that_holds_no_result_is_none() -> None:
    class Cache:
        def __init__(self) -> None:
            self.keys = np.ones(3)

    logits = np.zeros(2)
    found = arrays_of([Output(logits, past_key_values=Cache()), 3.0, None], lambda leaf: isinstance(leaf, np.ndarray))
    assert len(found) == 1
    assert found[0] is logits
