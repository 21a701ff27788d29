"""`check` on models from Python: they are told from implementations, run on given inputs, and left as they were."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.checking_models import NotForModels
from veriformer.conformance_tests.run.model_report import ModelReport

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TOKENS = np.arange(14).reshape(2, 7)


@pytest.fixture(scope="module")
def gpt() -> Any:
    pytest.importorskip("torch")
    sys.path.append(str(EXAMPLES))
    try:
        import my_gpt
    finally:
        sys.path.remove(str(EXAMPLES))
    return my_gpt.GPT()


def test_a_model_gets_the_report_of_a_model(gpt: Any) -> None:
    report = check(gpt, inputs=TOKENS, seed=3)
    assert isinstance(report, ModelReport)
    assert (report.implementation, report.framework, report.seed, report.verdict) == ("GPT", "torch", 3, "violates")
    assert [one.path for one in report.departures] == ["h.0.attn", "h.1.attn", "h.2.attn"]
    assert {one.suspects[0].name for one in report.departures} == {"scale_by_d_model_not_head_dim"}
    assert report.notices == ()


def test_inputs_may_be_a_tuple_a_dictionary_or_guessed(gpt: Any) -> None:
    given = [check(gpt, inputs=inputs) for inputs in ((TOKENS,), {"tokens": TOKENS}, None)]
    assert all(isinstance(report, ModelReport) and len(report.departures) == 3 for report in given)
    assert "since no inputs were handed over" in given[2].notices[0]
    assert given[2].notices[0][0].isupper()


def test_a_model_is_left_as_it_was(gpt: Any) -> None:
    import torch

    before = {name: value.clone() for name, value in gpt.state_dict().items()}
    gpt.train()
    check(gpt)
    assert gpt.training
    assert all(torch.equal(value, before[name]) for name, value in gpt.state_dict().items())


def test_arguments_about_laws_are_refused_for_a_model(gpt: Any) -> None:
    with pytest.raises(NotForModels, match="laws and tier are about the laws of operations, and GPT declares no oper"):
        check(gpt, laws=("softmax.*",), tier="quick")
    with pytest.raises(ValueError, match="leave it out"):
        check(f"{EXAMPLES / 'my_gpt.py'}:GPT", workers=2)


def test_an_implementation_has_no_inputs() -> None:
    with pytest.raises(ValueError, match="inputs are for a model"):
        check("numpy", inputs=TOKENS)
    with pytest.raises(ValueError, match=r"layers_alike is for a model, and this is .*; leave it out"):
        check("numpy", layers_alike=True)


def test_an_object_with_operations_is_an_implementation() -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    report = check(SimpleNamespace(softmax=softmax), laws=("softmax.shape",), tier="quick")
    assert not isinstance(report, ModelReport)
    assert report.verdict == "conforms"
    assert not isinstance(check(SimpleNamespace(softmax=softmax), diagnosis=False), ModelReport)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(LoadError, match=r"no model.*it declares no operation either"):
        check(3)
    with pytest.raises(LoadError):
        check(None)


def test_an_object_cannot_be_isolated(gpt: Any) -> None:
    with pytest.raises(LoadError, match="a GPT lives in this process"):
        check(gpt, isolate=True)


def test_a_file_can_be_isolated_but_not_with_inputs_of_this_process() -> None:
    source = f"{EXAMPLES / 'my_gpt.py'}:GPT"
    assert len(check(source, isolate=True).departures) == 3  # type: ignore[attr-defined]
    with pytest.raises(LoadError, match=r"write a function inputs\(\) in its file"):
        check(source, isolate=True, inputs=TOKENS)
