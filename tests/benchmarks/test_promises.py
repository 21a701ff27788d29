"""The benchmark of promises: parts with a tick are broken while the model runs, and what is said of them is counted."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def subject(benchmark: ModuleType) -> object:
    """A Llama of the zoo."""
    return benchmark.Subject("llama_by_hand")


def test_a_mistake_that_changes_nothing_leaves_the_model_as_it_is(benchmark: ModuleType, subject: object) -> None:
    before, right = subject.checked()  # type: ignore[attr-defined]
    with benchmark.broken(subject.model, benchmark.Break("none")):  # type: ignore[attr-defined]
        after, found = subject.checked()  # type: ignore[attr-defined]
    assert not benchmark._differ(before, after)
    assert [step.operation for step in before.steps] == [step.operation for step in after.steps]
    assert found.parts == right.parts
    # Neither hooks nor methods are left behind.
    modules = list(subject.model.modules())  # type: ignore[attr-defined]
    assert not any("forward" in vars(one) or one._forward_hooks or one._forward_pre_hooks for one in modules)


def test_every_part_can_be_broken_and_each_break_changes_its_own_part(benchmark: ModuleType, subject: object) -> None:
    trace, right = subject.checked()  # type: ignore[attr-defined]
    sites = benchmark.sites(subject.model, trace, right.parts)  # type: ignore[attr-defined]
    assert len(sites) == len(right.parts) == 15
    named = {site.part.path: [one.name for one in benchmark.breaks_of(site)] for site in sites}
    assert [path for path, names in named.items() if not names] == []
    assert {"scale left out", "mask one wider", "rotation the other way", "key heads tiled, not repeated"} <= set(
        named["layers.1.self_attn"]
    )
    assert {"gate and up exchanged", "activation left out", "another layer's module"} <= set(named["layers.1.mlp"])
    assert {"norm left out", "squares divided by d - 1", "gain left out"} <= set(named["norm"])


def test_a_broken_part_departs_and_a_broken_promise_is_told(
    benchmark: ModuleType, subject: object, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, right = subject.checked()  # type: ignore[attr-defined]
    sites = benchmark.sites(subject.model, trace, right.parts)  # type: ignore[attr-defined]
    site = next(one for one in sites if one.part.path == "layers.1.self_attn")
    mistake = next(one for one in benchmark.breaks_of(site) if one.name == "scale left out")
    trial = subject._trial(site.part, mistake, trace, right)  # type: ignore[attr-defined]
    assert (trial.said, trial.in_right_part) == ("departs", True)
    kept = benchmark.Trial("model", "h.0", "feed_forward", "one mistake", "still ✓")
    benchmark.print_trials([trial, kept])
    text = capsys.readouterr().out
    assert "| all | 2 | 1 | 0 | 0 | 1 | 50.0 | 50.0 |" in text
    assert "- model, `h.0` (feed_forward), one mistake; still ✓" in text
    assert not benchmark.reaches_aims([trial, kept])
    assert benchmark.reaches_aims([trial])


def test_a_step_is_found_again_by_its_address(benchmark: ModuleType) -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.ReLU())
    x = torch.randn(2, 3)
    twice = benchmark.Break("twice", {("1", "aten.relu", 0): lambda call: 2.0 * call.run()})
    with torch.no_grad():
        right = layer(x)
        with benchmark.broken(layer, twice):
            assert torch.equal(layer(x), 2.0 * right)
        assert torch.equal(layer(x), right)


def test_the_words_name_models_parts_and_a_file(
    benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_trial(name: str, every_part: bool) -> list[object]:
        return [benchmark.Trial(name, "h", "feed_forward", "a mistake", "departs", in_right_part=not every_part)]

    monkeypatch.setattr(benchmark, "trials_of", one_trial)
    kept = tmp_path / "trials.json"
    assert benchmark.main(["nanogpt", "gpt2", "--jobs", "1", "--json", str(kept)]) == 0
    assert [one["model"] for one in json.loads(kept.read_text(encoding="utf-8"))] == [
        "nanogpt",
        "gpt2/GPT2Model",
        "gpt2/GPT2LMHeadModel",
    ]
    assert benchmark.main(["nanogpt", "--jobs", "1", "--every-part"]) == 1
    assert "| a mistake | 1 | 1 | 0 | 0 | 0 | 100.0 | 0.0 |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        benchmark.main(["no such model"])
