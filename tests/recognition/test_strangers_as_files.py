"""Models of other frameworks as strangers hand them over: by the name of a file, without inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from veriformer.adapters.whole_models.session import Session, opened
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.conformance_tests import check
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.run.model_laws import laws_tried
from veriformer.conformance_tests.run.model_report import ModelReport

pytestmark = pytest.mark.long

os.environ.setdefault("KERAS_BACKEND", "jax")
HERE = Path(__file__).with_name("strangers")


@contextmanager
def found_in(target: str) -> Iterator[tuple[Session, Recognition]]:
    with opened(f"{HERE}/{target}", seed=0) as session:
        yield session, recognise(session.trace)


def test_norms_of_keras_and_declared_inputs() -> None:
    pytest.importorskip("keras")
    with found_in("keras_classifier.py:build") as (session, found):
        assert not found.departures
        norms = [part for part in found.parts if part.role == "layer_norm"]
        assert [part.conventions["eps"] for part in norms] == [1e-6] * 4
        assert any("as the model declares them, tokens (" in note for note in session.trace.notes)


def test_a_model_of_single_sequences_has_gradients_and_a_mask_in_words() -> None:
    pytest.importorskip("equinox")
    with found_in("equinox_gpt.py:GPT") as (session, found):
        assert {one.suspects[0].name for one in found.departures} == {"causal_diagonal_off_by_one"}
        assert found.departures[0].sentence == "each query sees the key after its own position too"
        (whole,) = session.wrapped([WholeModel()])
        assert whole.implementation is not None, whole.reason
        box = whole.implementation.black_box
        assert box is not None
        assert any("attention" in name for name in box.parameters)


def test_a_model_of_one_length_is_called_with_sequences_of_that_length() -> None:
    pytest.importorskip("torch")
    with found_in("torch_of_one_length.py:Classifier") as (session, _):
        (whole,) = session.wrapped([WholeModel()])
        assert whole.implementation is not None, whole.reason
        box = whole.implementation.black_box
        assert box is not None
        assert (box.min_length, box.max_length) == (11, 11)
        results = {one.law.claim.key: one.status for one in laws_tried(whole.implementation, 0).results}
    assert "error" not in results.values()
    assert {key for key, status in results.items() if status == "passed"} >= {
        "shape", "batch.independence", "batch.permutation", "history_independence", "gradients.value"
    }  # fmt: skip


def test_a_model_with_a_cache_for_so_many_samples_is_called_with_no_more() -> None:
    pytest.importorskip("torch")
    with found_in("torch_cache_in_rows.py:Attention") as (session, found):
        assert not found.departures
        (whole,) = session.wrapped([WholeModel(causal=True)])
        assert whole.implementation is not None, whole.reason
        box = whole.implementation.black_box
        assert box is not None
        assert (box.max_batch, box.max_length) == (4, 24)
        report = laws_tried(whole.implementation, 0)
    statuses = {one.law.claim.key: one.status for one in report.results}
    assert "error" not in statuses.values()
    assert {key for key, status in statuses.items() if status == "passed"} >= {"batch.independence", "cache.parts"}


@pytest.mark.parametrize(
    "target",
    (
        "heads_in_every_way.py:by_head",
        "heads_in_every_way.py:heads_first",
        "heads_in_every_way.py:joined",
        "heads_in_every_way.py:channels",
        "heads_in_every_way.py:components_first",
        "heads_in_every_way.py:deep_norm",
        "jax_by_head.py:build",
    ),
)
def test_heads_in_axes_of_their_own_are_read(target: str) -> None:
    pytest.importorskip("jax" if "jax" in target else "torch")
    with found_in(target) as (_, found):
        assert not found.departures
        assert found.share_found == 1.0
        assert found.causal


@pytest.mark.parametrize("name", ("in_pieces", "without_softmax"))
def test_attention_of_another_kind_is_not_accused(name: str) -> None:
    pytest.importorskip("torch")
    with found_in(f"heads_in_every_way.py:{name}") as (_, found):
        assert not found.departures
        assert found.share_found < 1.0 or found.share_understood < 0.75


def test_parts_without_modules_do_not_share_a_departure() -> None:
    report = check(f"{HERE}/numpy_gpt.py:Tiny")
    assert isinstance(report, ModelReport)
    assert {one.suspects[0].name for one in report.departures} == {"scale_by_d_model_not_head_dim"}
    statuses = {part.role: part.status for part in report.parts if part.layer == 0}
    assert statuses["multi_head_attention"] == "departs"
    assert statuses["feed_forward"] == "holds"
    # What departs by a known mistake was understood.
    assert report.is_recognised
