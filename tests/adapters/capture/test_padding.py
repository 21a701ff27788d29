"""Which token a model says is padding."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch import nn
from veriformer.adapters.capture.padding import stated_padding


def home_with(**constants):
    home = ModuleType("home")
    vars(home).update(constants)
    return home


@pytest.mark.parametrize(
    ("configuration", "constants", "token"),
    [
        ({"config.pad_token_id": 0}, {}, 0),
        ({"cfg.pad_idx": 2, "src_pad_idx": 2}, {"PAD": 2}, 2),
        ({}, {"PAD_TOKEN": 1}, 1),
        ({"src_pad_id": 1, "tgt_pad_id": 2}, {}, None),
        ({"config.encoder.pad_id": 1, "config.decoder.pad_id": 2}, {}, None),
        ({"config.pad_token_id": -100}, {}, None),
        ({"config.padding": 3, "pad": 1, "pad_id": True}, {"PAD": "<pad>"}, None),
    ],
)
def test_a_configuration_and_constants_are_read(configuration, constants, token):
    assert stated_padding(object(), configuration, home_with(**constants)) == token


def test_a_table_of_tokens_is_read():
    model = nn.Sequential(nn.Embedding(7, 4, padding_idx=5), nn.Linear(4, 7))
    assert stated_padding(model, {}) == 5
    assert stated_padding(model, {"pad_id": 0}) is None
    assert stated_padding(nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7)), {"n": torch.float32}) is None
