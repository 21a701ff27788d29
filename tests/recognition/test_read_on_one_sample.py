"""What is read on one sample is a loop over samples, and no batch of which too little was read."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.whole_models.session import Session, opened
from veriformer.conformance_tests.recognition.evidence import ENOUGH
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.run.checking_models import recognised_in

torch = pytest.importorskip("torch")

NOTE = "It was read on one sample, since it goes through its samples one by one"


@pytest.fixture(scope="module")
def samples(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("mixed_samples")


def on_both(session: Session) -> tuple[float, float]:
    """Return how much of a model is understood on its batch, and on one sample."""
    traces = session.trace, session.again(0, one_sample=True)
    batch, alone = (recognise(one).share_understood for one in traces)
    return batch, alone


def read(model: Any) -> tuple[tuple[float, float], Recognition, tuple[str, ...]]:
    torch.manual_seed(0)
    with opened(model, seed=0) as session:
        return on_both(session), *recognised_in(session, 0)


def test_a_batch_of_which_too_little_was_read_stays_one(samples: ModuleType) -> None:
    shares, recognition, notes = read(samples.mixed())
    assert shares[0] < ENOUGH < shares[1] == 1.0
    assert recognition.share_understood == shares[0]
    assert NOTE not in notes
    attentions = [part for part in recognition.parts if part.role == "multi_head_attention" or "attention" in part.path]
    assert {part.status for part in attentions} == {"unrecognised"}


def test_a_loop_that_is_not_seen_is_read_on_one_sample(samples: ModuleType) -> None:
    shares, recognition, notes = read(samples.EmbeddedTogether())
    assert shares[0] < ENOUGH < shares[1] == 1.0
    assert recognition.share_understood == 1.0
    assert recognition.departures == ()
    assert notes == (NOTE,)


def test_a_right_loop_that_is_read_on_its_batch_is_not_accused(samples: ModuleType) -> None:
    _, recognition, _ = read(samples.Limited())
    assert recognition.departures == ()
