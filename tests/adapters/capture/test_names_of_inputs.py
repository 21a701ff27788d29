from __future__ import annotations

from typing import Any

import numpy as np
import torch
from veriformer.adapters.capture.captured import capture_model


class OfThree(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(9, 4)

    def forward(self, input_ids: Any, token_type_ids: Any, attention_mask: Any) -> Any:
        del token_type_ids
        return self.table(input_ids) * attention_mask[..., None]


def test_inputs_by_name_keep_their_names() -> None:
    ids = torch.tensor([[1, 2, 3]])
    given = {"input_ids": ids, "token_type_ids": ids * 0, "attention_mask": torch.tensor([[1, 1, 0]])}
    trace = capture_model(OfThree(), keywords=given, seed=None)
    held = {trace.values[index].name: trace.values[index].array for index in trace.inputs}
    assert set(held) == set(given)
    assert all(np.array_equal(held[name], given[name].numpy()) for name in given)
