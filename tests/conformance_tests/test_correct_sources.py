"""The sources that mistakes are planted in conform as they stand, at every law that their operations have."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from veriformer.conformance_tests import check, mistakes
from veriformer.conformance_tests.mistakes import source_names
from veriformer.spec.operations import OPERATIONS

pytestmark = pytest.mark.long

SOURCES = Path(mistakes.__file__).parent / "sources"
# `test_backward.py` and `test_models.py` hold these to every law.
CHECKED_ELSEWHERE = ("backward_torch", "models_torch")
POSITIONS = ("rotary_embedding", "alibi_bias", "relative_position_bucket")
LAYERS = ("layer_norm", "rms_norm", "gelu", "silu", "feed_forward", "gated_feed_forward")


def imported(source: str) -> ModuleType:
    """Import a source once, so that what JAX compiled serves every seed."""
    framework = source.rpartition("_")[2]
    if framework != "numpy":
        pytest.importorskip(framework)
    specification = importlib.util.spec_from_file_location(source, SOURCES / f"{source}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


CHECKED: tuple[tuple[str, Any, int], ...] = (
    ("blocked_numpy", "quick", 2),
    ("half_torch", "quick", 2),
    ("single_head_torch", "standard", 2),
    ("black_box_torch", "quick", 2),
    ("pooled_torch", "quick", 2),
    ("layers_numpy", "standard", 1),
    ("layers_torch", "standard", 1),
    ("relative_shift_numpy", "quick", 2),
    ("positions_numpy", "quick", 3),
    ("positions_torch", "quick", 3),
    ("training_numpy", "standard", 3),
    ("training_torch", "standard", 3),
    ("losses_numpy", "standard", 3),
    ("modern_weights_numpy", "standard", 2),
    ("padded_decoding_numpy", "standard", 2),
    ("losses_torch", "standard", 3),
)
# Of these the laws that compile for a minute are left out: what counts is that the planted ones hold.
SOME_LAWS = {"attention_jax": ("attention.scale", "*.causal.no_future_leak", "grouped_query.repeated_heads")}


# Every other source, a new one too: nothing about it calls for more.
OTHERS = sorted({*source_names()} - {source for source, *_ in CHECKED} - SOME_LAWS.keys() - {*CHECKED_ELSEWHERE})


@pytest.mark.parametrize("source", SOME_LAWS)
def test_some_laws_hold_of_the_file_without_a_mistake(source: str) -> None:
    report = check(imported(source), laws=SOME_LAWS[source], tier="quick")
    assert {result.status for result in report.results} == {"passed", "not_declared"}


@pytest.mark.parametrize(("source", "tier", "seeds"), (*CHECKED, *((source, "quick", 1) for source in OTHERS)))
def test_the_file_without_a_mistake_conforms(source: str, tier: Any, seeds: int) -> None:
    module = imported(source)
    # What is derived of them has tests of its own.
    operations = tuple(name for name in OPERATIONS if hasattr(module, name))
    for seed in range(seeds):
        report = check(module, operations=operations, tier=tier, seed=seed)
        broken = [result.law.id for result in report.results if result.status in ("failed", "error")]
        assert (seed, broken, report.exit_status) == (seed, [], 0)
        assert report.counts["passed"]
        if source.startswith("positions"):
            # They have every keyword, so that each law of their operations is judged.
            assert report.counts["passed"] == sum(result.law.operation.name in POSITIONS for result in report.results)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("seed", range(5))
def test_the_built_in_layers_conform(name: str, seed: int) -> None:
    pytest.importorskip(name)
    report = check(name, operations=LAYERS, tier="quick", seed=seed)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] >= 28


def test_the_built_in_encoder_and_decoder_layers_of_torch_conform() -> None:
    pytest.importorskip("torch")
    report = check("torch", operations=("encoder_layer", "decoder_layer"), tier="quick")
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] >= 60
