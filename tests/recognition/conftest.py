"""Readings of small models that a test writes itself, and the models of the zoo."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.attentions import AttentionReading, read_attention
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import Maps
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sites import find_sites
from veriformer.conformance_tests.recognition.streams import Place, Streams
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer, Sublayers

KINDS = Path(__file__).with_name("kinds")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _streams(trace: Trace, batch: int) -> Streams:
    flow = Flow(trace)
    maps = Maps(flow)
    reader = Reader(flow, maps, find_sites(flow, maps, batch))
    return Streams(reader, Sublayers(flow, maps, reader))


@pytest.fixture(scope="module")
def kind() -> Iterator[Callable[[str], ModuleType]]:
    """Return a function that imports a file of `kinds`, whose files import each other."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(KINDS))

        def imported(name: str) -> ModuleType:
            __import__(name)
            return sys.modules[name]

        yield imported
    for name in set(sys.modules) - before:
        if (KINDS / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture(scope="session")
def traced() -> Callable[..., Trace]:
    """Return a function that records a module of torch, with parameters drawn anew."""
    pytest.importorskip("torch")

    def trace_of(model: Any, *inputs: Any, seed: int = 0) -> Trace:
        from veriformer.adapters.capture.torch import capture

        return capture(model, inputs, seed=seed)

    return trace_of


@pytest.fixture(scope="session")
def attention_in(traced: Callable[..., Trace]) -> Callable[..., AttentionReading]:
    """Return a function that reads the only attention of a module on random vectors (B, L, E)."""

    def reading(model: Any, *shape: int, seed: int = 0) -> AttentionReading:
        import torch

        x = torch.as_tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)
        trace = traced(model, x, seed=seed)
        sublayers = _streams(trace, shape[0]).sublayers
        (attention,) = (one for one in sublayers.all if isinstance(one, AttentionSublayer))
        return read_attention(sublayers.flow, attention, [])

    return reading


@pytest.fixture(scope="session")
def places_in() -> Callable[[Trace, int], tuple[Place, ...]]:
    """Return a function that gives the places of the sublayers in a recorded pass."""
    return lambda trace, batch: _streams(trace, batch).places


@pytest.fixture(scope="session")
def model_faults() -> Iterator[ModuleType]:
    """The script that plants faults in the models of the zoo and recognises them."""
    specification = importlib.util.spec_from_file_location(
        "model_faults_of_recognition", BENCHMARKS / "model_faults.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patched:
        # A dataclass looks its annotations up in its module.
        patched.setitem(sys.modules, specification.name, module)
        # The script sets both for itself.
        patched.setenv("KERAS_BACKEND", "jax")
        patched.syspath_prepend(BENCHMARKS / "models")
        specification.loader.exec_module(module)
        yield module
