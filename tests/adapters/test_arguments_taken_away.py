"""Operations that freeze, donate, delete or take apart what they are given: a result of theirs, no end of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import AdapterError
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

INTERFACE = ("softmax.inputs_unchanged", "softmax.result_kept", "softmax.same_call_same_answer")


def statuses(softmax: Callable[[Any], Any], framework: str, laws: tuple[str, ...] = INTERFACE) -> dict[str, str]:
    report = check(SimpleNamespace(framework=framework, softmax=softmax), laws=laws, tier="quick", diagnosis=False)
    return {result.law.id.removeprefix("softmax."): result.status for result in report.results}


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def test_a_frozen_argument() -> None:
    def softmax(x: np.ndarray) -> np.ndarray:
        x.setflags(write=False)
        return numpy_softmax(x)

    assert set(statuses(softmax, "numpy").values()) == {"passed"}


def test_a_view_of_a_frozen_array_cannot_be_written_over() -> None:
    array = np.ones((2, 3), np.float32)
    array.setflags(write=False)
    load("numpy").framework.overwrite(array[:1], np.zeros((1, 3), np.float32))
    assert array.min() == 1


def test_a_donated_argument() -> None:
    jax = pytest.importorskip("jax")

    def softmax(x: Any) -> Any:
        result = jax.nn.softmax(x)
        x.delete()
        return result

    found = statuses(softmax, "jax")
    assert found["inputs_unchanged"] == "failed"
    assert found["same_call_same_answer"] == "error"
    assert statuses(jax.jit(jax.nn.softmax, donate_argnums=0), "jax")["inputs_unchanged"] == "failed"


def test_arguments_that_are_put_into_another_state() -> None:
    pytest.importorskip("torch")

    def emptied(x: Any) -> Any:
        result = x.softmax(-1)
        x.untyped_storage().resize_(0)
        return result

    def resized(x: Any) -> Any:
        result = x.softmax(-1)
        x.resize_(0)
        return result

    def differentiated(x: Any) -> Any:
        return x.requires_grad_().softmax(-1)

    # Called once more on memory that it gave back itself, it would end the process.
    for function, laws in ((emptied, INTERFACE[:1]), (resized, INTERFACE[:2])):
        assert statuses(function, "torch", laws)["inputs_unchanged"] == "failed"
    assert set(statuses(differentiated, "torch").values()) == {"passed"}


@pytest.mark.parametrize("way", ["deleted", "none", "nested"])
def test_weights_that_are_taken_apart(way: str) -> None:
    def network(x: np.ndarray, weights: Any, *, activation: str) -> np.ndarray:
        hidden = np.maximum(x @ weights.w_1 + (0 if weights.b_1 is None else weights.b_1), 0)
        result = hidden @ weights.w_2 + (0 if weights.b_2 is None else weights.b_2)
        if way == "deleted":
            del weights.w_1
        elif way == "none":
            weights.w_1 = None
        else:
            weights.itself = weights
        return np.asarray(result)

    implementation = SimpleNamespace(feed_forward=network)
    laws = ("feed_forward.inputs_unchanged", "feed_forward.result_kept")
    report = check(implementation, laws=laws, tier="quick", diagnosis=False)
    assert report.results[0].status in ("failed", "error")


def test_what_is_put_into_weights_for_ever_is_one_sentence() -> None:
    def network(x: np.ndarray, weights: Any, *, activation: str) -> np.ndarray:
        weights.itself = weights
        return x

    given = {"x": np.ones((2, 3)), "weights": {"w_1": np.ones((3, 3)), "b_1": None}, "activation": "relu"}
    prepared = prepare(load(SimpleNamespace(feed_forward=network)), "feed_forward", given, dtype="float32")
    prepared.run()
    with pytest.raises(AdapterError, match="feed_forward left its arguments so that they cannot be read"):
        prepared.arguments_now()


@pytest.mark.parametrize("place", ["loop.py", "loop.py:softmax", "folder/mine.py", "beside.py"])
def test_a_loop_of_links_is_no_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "folder").symlink_to(tmp_path / "folder")
    (tmp_path / "beside.py").write_text("def softmax(x):\n    return x\n")
    if place == "beside.py":
        assert load(f"{tmp_path}/{place}").declares("softmax")
        return
    with pytest.raises(AdapterError, match=r"cannot be a file's name|there is no file") as caught:
        load(f"{tmp_path}/{place}")
    assert "\n" not in str(caught.value)
