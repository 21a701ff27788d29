"""Padding that a model tells by its tokens or by lengths is tried as one that it is handed a mask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.files import load_file
from veriformer.conformance_tests.run.checking_models import check_model
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")

padded = load_file(str(Path(__file__).with_name("strangers") / "padded.py"))[0]
documented = load_file(str(Path(__file__).with_name("strangers") / "documented_padding.py"))[0]
TOKENS = torch.tensor([[5, 9, 2, 7, 3, 8], [4, 6, 2, 1, 1, 1]])


def statuses(report: ModelReport) -> dict[str, str]:
    return {one.law.id: one.status for one in report.results if one.law.id.startswith("model.padding")}


def tokens_of(pooled: str, returns: str) -> ModelReport:
    return check_model(padded.Encoder(pooled, returns), (TOKENS,))


def lengths_of(pooled: str, _: str) -> ModelReport:
    return check_model(padded.OfLengths(pooled), (torch.randn(2, 6, padded.WIDTH), torch.tensor([6, 3])))


@pytest.mark.parametrize(("report", "returns"), ((tokens_of, "both"), (tokens_of, "mean"), (lengths_of, "mean")))
def test_what_is_pooled_goes_without_padding(report: Any, returns: str) -> None:
    right = statuses(report("shown", returns))
    assert right["model.padding.removed"] == right["model.padding.content"] == "passed"
    assert "failed" not in right.values()
    assert statuses(report("all", returns))["model.padding.removed"] == "failed"


def test_lengths_say_nothing_of_padding_in_front() -> None:
    assert statuses(lengths_of("shown", ""))["model.padding.left"] == "not_declared"


def test_results_of_whole_samples_are_told_of() -> None:
    said = "What it returns for each sample as a whole is judged too, behind the columns of its positions"
    assert said in tokens_of("shown", "both").notices
    assert said not in tokens_of("shown", "mean").notices


def test_without_padding_in_the_inputs_none_is_known() -> None:
    report = check_model(padded.Encoder(), (TOKENS[:, :3],))
    assert set(statuses(report).values()) == {"not_declared"}


def test_positions_of_another_number_are_not_judged_by_their_padding() -> None:
    report = check_model(padded.EverySecond(), (torch.randn(2, 6, padded.WIDTH), torch.tensor([6, 3])))
    assert set(statuses(report).values()) == {"not_declared"}


def test_a_single_sequence_with_padding_is_read() -> None:
    report = check_model(padded.OneSequence(), (TOKENS[1],))
    assert statuses(report)["model.padding.removed"] == "passed"


@pytest.mark.parametrize(
    ("name", "holds"), (("Encoder", True), ("TheOtherWay", False), ("Undocumented", True), ("ByMethod", True))
)
def test_a_mask_is_handed_over_as_documentation_says(name: str, holds: bool) -> None:
    report = check_model(getattr(documented, name)(), (torch.randn(2, 6, documented.WIDTH),))
    assert statuses(report)["model.padding.content"] == ("passed" if holds else "failed")
    said = "pad_mask is handed over as its documentation says, so that True is padding; the model hides the others"
    assert (said in report.notices) is not holds


class OfTwoMasks(torch.nn.Module):
    """Self-attention with a mask of pairs, and one of keys.

    key_padding_mask: (B, L), True where the key is padding and must be ignored.
    """

    def __init__(self, hides: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.hides, self.maps = hides, torch.nn.Linear(24, 72)

    def forward(self, x: Any, attn_mask: Any = None, key_padding_mask: Any = None) -> Any:
        query, key, value = self.maps(x).unflatten(-1, (3, 4, 6)).permute(2, 0, 3, 1, 4)
        logits = query @ key.mT / 6**0.5
        if attn_mask is not None:
            logits = logits + attn_mask
        if key_padding_mask is not None:
            hidden = key_padding_mask if self.hides else ~key_padding_mask
            logits = logits.masked_fill(hidden[:, None, None], float("-inf"))
        return (logits.softmax(-1) @ value).transpose(1, 2).flatten(2)


@pytest.mark.parametrize("hides", (True, False))
def test_of_two_masks_the_one_of_padding_is_tried(hides: bool) -> None:
    report = check_model(OfTwoMasks(hides), (torch.randn(2, 6, 24),))
    assert statuses(report)["model.padding.content"] == ("passed" if hides else "failed")


class Translator(torch.nn.Module):
    """A source is encoded, and each position of the target averages what it came to; `hides` says where padding counts.

    attention_mask is 1 for the real tokens of the source.
    """

    def __init__(self, hides: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.source, self.target = torch.nn.Embedding(12, 16), torch.nn.Embedding(12, 16)
        self.maps = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(6))
        self.head, self.hides = torch.nn.Linear(16, 12), hides

    def attended(self, first: int, x: Any, memory: Any, mask: Any) -> Any:
        query, key, value = self.maps[first](x), self.maps[first + 1](memory), self.maps[first + 2](memory)
        logits = query @ key.transpose(-1, -2) / 4.0
        logits = logits if mask is None else logits.masked_fill(mask[:, None] == 0, -1e9)
        return x + logits.softmax(-1) @ value

    def forward(self, input_ids: Any, decoder_input_ids: Any, attention_mask: Any = None) -> Any:
        encoder, decoder = (attention_mask if part in self.hides else None for part in ("encoder", "decoder"))
        source = self.source(input_ids)
        memory = self.attended(0, source, source, encoder)
        return self.head(self.attended(3, self.target(decoder_input_ids), memory, decoder))


def of_source(hides: str) -> ModelReport:
    source, target = torch.arange(2 * 11).reshape(2, 11) % 12, torch.arange(2 * 7).reshape(2, 7) % 12
    return check_model(Translator(hides), (source, target))


def test_the_padding_of_a_source_is_judged() -> None:
    right = of_source("encoder decoder")
    assert statuses(right)["model.padding.content"] == statuses(right)["model.padding.all_real"] == "passed"
    assert any("judged of input_ids" in one for one in right.notices)
    for hides in ("encoder", "decoder"):
        assert statuses(of_source(hides))["model.padding.content"] == "failed"
