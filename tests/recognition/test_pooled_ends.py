"""Vectors of whole samples as results: a mean over positions, perhaps of those that are kept, perhaps of length one."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")
WIDTH, PAD = 24, 0
TOKENS = torch.tensor([[5, 9, 2, 7, 3, 8], [4, 6, 2, 0, 0, 0]])


class Encoder(torch.nn.Module):
    def __init__(self, kept: str = "all", unit: str = "", *, hides: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(30, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 40, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.kept, self.unit, self.hides = kept, unit, hides

    def forward(self, tokens: Any) -> Any:
        x = self.layers(self.table(tokens), src_key_padding_mask=tokens == PAD if self.hides else None)
        if self.kept == "all":
            x = x.mean(1)
        elif self.kept == "chosen":
            place = torch.nn.functional.one_hot((7 * tokens % 31).argmax(-1), tokens.shape[1])
            x = (x * place.to(x.dtype)[..., None]).sum(1)
        else:
            weights = (tokens != PAD).to(x.dtype)[..., None]
            x = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        if self.unit == "normalize":
            return torch.nn.functional.normalize(x, dim=-1)
        return x / x.pow(2).sum(-1, keepdim=True).sqrt().clamp(min=1e-12) if self.unit else x


def found(*arguments: Any, **keywords: Any) -> Recognition:
    model = Encoder(*arguments, **keywords)
    return recognise(recorded_pass(find_model(model, "model", (TOKENS,)), (TOKENS,), seed=0).trace)


@pytest.mark.parametrize("unit", ("", "normalize", "by hand"))
@pytest.mark.parametrize(
    ("kept", "words"), (("all", "the mean over all positions"), ("real", "the mean over the positions that are kept"))
)
def test_the_vector_of_a_sample_is_understood(kept: str, words: str, unit: str) -> None:
    recognition = found(kept, unit, hides=kept == "real")
    assert recognition.departures == ()
    assert recognition.understood == recognition.captured
    said = [one.summary for one in recognition.parts if one.role == "pooling"]
    assert said == [words + (", divided by its length" if unit else "")]


def test_one_position_that_is_chosen_is_no_mean() -> None:
    recognition = found("chosen", "", hides=False)
    assert recognition.departures == ()
    assert [one.summary for one in recognition.parts if one.role == "pooling"] == ["one position of each sample"]


@pytest.mark.parametrize("unit", ("", "by hand"))
def test_padding_in_the_mean_departs(unit: str) -> None:
    recognition = found("all", unit, hides=True)
    (departure,) = recognition.departures
    assert [one.status for one in recognition.parts if one.role == "pooling"] == ["departs"]
    assert departure.suspects[0].name == "mean_pooling_includes_padding"
