"""Models of towers, mergers and poolers: what stands outside of the layers is no layer that lacks something."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")
nn = torch.nn

WIDTH = 48


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def small(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("small")


def sentences(model: Any, *inputs: Any) -> list[str]:
    recognition = recognise(recorded_pass(find_model(model, "model"), inputs, seed=0).trace)
    return [one.sentence for one in recognition.departures]


class Patches(nn.Module):
    """A convolution and positions, of as many patches as channels."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.positions = nn.Conv2d(3, WIDTH, 2, 2), nn.Parameter(torch.randn(WIDTH, WIDTH))

    def forward(self, images: Any) -> Any:
        return self.convolution(images).flatten(2).transpose(1, 2) + self.positions


def test_as_many_patches_as_channels_are_told_by_what_comes_into_the_stream(small: ModuleType) -> None:
    stack = small.Stack(lambda: small.Block(attention=lambda: small.Attention(causal=False)))
    assert sentences(nn.Sequential(Patches(), stack), torch.randn(2, 3, 12, 16)) == []


class Merged(nn.Module):
    """An image's stream whose patches are merged by a network, and pooled behind a norm for others."""

    def __init__(self, small: ModuleType, *, normed: bool = True) -> None:
        super().__init__()
        self.patches = Patches()
        blocks = [small.Block(attention=lambda: small.Attention(causal=False)) for _ in range(2)]
        self.blocks, self.post_norm, self.normed = nn.ModuleList(blocks), nn.LayerNorm(WIDTH), normed
        self.merger, self.denoising = small.Gated(), nn.Embedding(7, WIDTH)

    def forward(self, images: Any) -> Any:
        x = self.patches(images)
        for block in self.blocks:
            x = block(x)
        self.pooled = self.post_norm(x[:, 0])
        return self.merger(x)


def test_a_merger_a_pooler_and_a_table_for_training_lack_nothing(small: ModuleType) -> None:
    assert sentences(Merged(small), torch.randn(2, 3, 12, 16)) == []


class Towers(nn.Module):
    """CLIP: a causal text beside an image, with positions counted from behind the padding as RoBERTa counts them."""

    def __init__(self, small: ModuleType) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30, WIDTH), nn.Embedding(20, WIDTH)
        self.text, self.patches = small.Stack(), Patches()
        self.image = small.Stack(lambda: small.Block(attention=lambda: small.Attention(causal=False)))
        self.heads = nn.ModuleList(nn.Linear(WIDTH, 16, bias=False) for _ in range(2))
        self.config = SimpleNamespace(
            text_config={"rms_norm_eps": 1e-6, "width": WIDTH, "layers": 2},
            audio_config={"rms_norm_eps": 1e-4, "rope_theta": 500.0, "width": 9},
        )

    def forward(self, tokens: Any, images: Any) -> Any:
        counted = (tokens != 1).long()
        text = self.text(self.words(tokens) + self.places(counted.cumsum(1) * counted + 1))
        image = self.image(self.patches(images))
        return self.heads[0](text[:, -1]) @ self.heads[1](image[:, 0]).T


def test_a_causal_text_beside_an_image_is_no_encoder(small: ModuleType) -> None:
    assert sentences(Towers(small), torch.randint(2, 30, (2, 9)), torch.randn(2, 3, 12, 16)) == []
