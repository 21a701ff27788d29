"""What a class's name, a tied table, a size of patches and a choice of shares state is compared with the model."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check

torch = pytest.importorskip("torch")
sigmoid, gelu, silu = torch.sigmoid, torch.nn.functional.gelu, torch.nn.functional.silu


@pytest.fixture(scope="module")
def stated(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("stated_elsewhere")


def said(model: Any, inputs: Any) -> list[str]:
    """Return where a model departs, a sentence each."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    report: Any = check(model.eval(), inputs=inputs)
    return list(dict.fromkeys(one.sentence for one in report.departures))


@pytest.mark.parametrize(
    ("activation", "configured", "departs"),
    ((silu, {}, False), (sigmoid, {}, True), (gelu, {}, True), (gelu, {"hidden_act": "gelu"}, False)),
)
def test_a_gated_network_is_what_its_class_is_called(
    stated: ModuleType, activation: Any, configured: dict[str, Any], departs: bool
) -> None:
    found = said(stated.gated(activation, **configured), stated.TOKENS)
    assert [one.startswith("the class is called SwiGLU, and its activation is") for one in found] == [True] * departs


@pytest.mark.parametrize(
    ("is_tied", "configured", "departs"),
    ((True, True, False), (False, True, True), (False, False, False), (True, False, False)),
)
def test_an_unembedding_is_tied_where_that_is_stated(
    stated: ModuleType, is_tied: bool, configured: bool, departs: bool
) -> None:
    found = said(stated.tied(is_tied, tie_word_embeddings=configured), stated.TOKENS)
    sentence = "the configuration says that config.tie_word_embeddings is True, and the unembedding is not tied"
    assert found == [sentence] * departs


def test_a_head_of_classes_is_tied_to_nothing(stated: ModuleType) -> None:
    assert said(stated.OfTwoClasses(), stated.TOKENS) == []


def test_patches_have_the_size_that_is_stated(stated: ModuleType) -> None:
    images = torch.randn(2, 3, 16, 16)
    assert said(stated.Patched(), images) == []
    sentence = "the configuration says that config.patch_size is 4, and the patches are 1 × 16"
    assert said(stated.Patched(exchanged=False), images) == [sentence]
    assert said(stated.Patched(2, stated=4), images)[0].endswith("is 4, and the patches are 2 × 2")


@pytest.mark.parametrize("is_one", (True, False))
def test_shares_have_the_sum_that_is_stated(stated: ModuleType, is_one: bool) -> None:
    assert said(stated.routed(is_one, norm_topk_prob=is_one), stated.TOKENS) == []
    assert said(stated.routed(is_one), stated.TOKENS) == []
    (found,) = said(stated.routed(is_one, norm_topk_prob=not is_one), stated.TOKENS)
    assert found.startswith(f"the configuration says that config.norm_topk_prob is {not is_one}, and the shares")


@pytest.mark.parametrize("is_late", (False, True))
def test_norms_behind_the_rotation_are_told_as_such(stated: ModuleType, is_late: bool) -> None:
    report: Any = check(stated.turned_first(is_late).eval(), inputs=stated.TOKENS)
    words = [
        part.summary for part in report.recognition.parts if "rms_norm of each head of query and key" in part.summary
    ]
    assert words and all(("after they are turned" in one) == is_late for one in words)


def test_sequences_that_all_have_their_positions_first(stated: ModuleType) -> None:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(11, 3, 48) for _ in range(3))
    right: Any = check(stated.TimeFirst().eval(), inputs=inputs)
    wrong: Any = check(stated.TimeFirst(mixed=True).eval(), inputs=inputs)
    assert right.exit_status == 0
    assert wrong.exit_status == 1


class OneByOne:
    """Six heads on three of keys in NumPy, each head multiplied with matrices of its own."""

    def __init__(self, tiled: bool) -> None:
        draw = np.random.default_rng(0)
        self.tiled, self.table = tiled, draw.normal(size=(60, 48))
        self.query, self.key, self.value = ([draw.normal(size=(48, 8)) * 0.2 for _ in range(n)] for n in (6, 3, 3))
        self.out = [draw.normal(size=(8, 48)) * 0.2 for _ in range(6)]
        self.up, self.down, self.head = (draw.normal(size=one) * 0.2 for one in ((48, 96), (96, 48), (48, 60)))

    def __call__(self, tokens: Any) -> Any:
        return np.stack([self.one(row) for row in np.asarray(tokens)])

    def one(self, tokens: Any) -> Any:
        x = self.table[tokens]
        keys, values = [x @ one for one in self.key], [x @ one for one in self.value]
        hidden = np.triu(np.full((len(x), len(x)), -1e9), 1)
        total = 0.0
        for head in range(6):
            read = head % 3 if self.tiled else head // 2
            logits = x @ self.query[head] @ keys[read].T / np.sqrt(8) + hidden
            weights = np.exp(logits - logits.max(-1, keepdims=True))
            total = total + weights / weights.sum(-1, keepdims=True) @ values[read] @ self.out[head]
        x = x + total
        return (x + np.maximum(x @ self.up, 0.0) @ self.down) @ self.head


def test_heads_that_are_written_one_by_one_are_told_together() -> None:
    tokens = np.arange(11)[None]
    right: Any = check(OneByOne(tiled=False), inputs=tokens)
    assert right.exit_status == 0
    assert any("6 heads one by one on 3, causal" in part.summary for part in right.recognition.parts)
    wrong: Any = check(OneByOne(tiled=True), inputs=tokens)
    assert "0, 1, 2, 0, 1, 2; each should serve as many in turn: 0, 0, 1, 1, 2, 2" in wrong.departures[0].sentence
