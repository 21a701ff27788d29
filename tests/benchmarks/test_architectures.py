"""The benchmark of all architectures: tiny models by rules, read and accused of nothing, and what cannot be built."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def test_two_model_types_are_read(benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "outcomes.json"
    status = benchmark.main(["vit", "llama", "--classes", "base", "--json", str(kept)])
    text = capsys.readouterr().out
    assert status == 0
    outcomes = json.loads(kept.read_text(encoding="utf-8"))
    assert [one["name"] for one in outcomes] == ["ViTModel", "LlamaModel"]
    assert all(one["read"] and one["understood"] == 1.0 and one["departures"] == [] for one in outcomes)
    assert "2 classes of 2 model types: 2 built, 2 run, 2 read, 2 understood to at least 90 %" in text


def test_a_departure_is_an_accusation(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = benchmark.built

    def scaled_wrongly(*words: object) -> object:
        model = built(*words)
        model.layers[1].self_attn.scaling = 1.0
        return model

    monkeypatch.setattr(benchmark, "built", scaled_wrongly)
    assert benchmark.main(["llama", "--classes", "base"]) == 1
    assert "- llama, LlamaModel: `layers.1.self_attn`, logits (scale_missing): " in capsys.readouterr().out


def test_what_cannot_be_built_says_why(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "_MOST_PARAMETERS", 10)
    said = benchmark.outcome("llama", "LlamaModel", 60.0)
    assert not said.built
    assert said.reason == "not built: TooLarge: 0 million parameters"


def test_numbers_are_shrunk_by_their_names(benchmark: ModuleType) -> None:
    tiny, roomy = benchmark.tiny, benchmark.ROOMY
    small = tiny(transformers.Gemma3TextConfig())
    assert (small.hidden_size, small.num_attention_heads, small.num_key_value_heads, small.head_dim) == (32, 4, 2, 8)
    # One layer of each kind.
    assert small.layer_types == ["sliding_attention", "full_attention"]
    assert small.num_hidden_layers == 2
    clip = tiny(transformers.CLIPConfig())
    assert (clip.vision_config.image_size, clip.vision_config.patch_size) == (32, 8)
    assert 0 <= clip.text_config.eos_token_id < clip.text_config.vocab_size == 96
    assert len(tiny(transformers.SwinConfig()).depths) == 2
    assert len(tiny(transformers.SwinConfig(), roomy).depths) == 4
