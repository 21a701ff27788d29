"""A temperature is tried where its default changes nothing: one that multiplies, or does nothing, is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check

SOFTMAX = """
import numpy as np

def {name}(x, {parameter}):
    z = {logits}
    z = z - z.max(axis=-1, keepdims=True)
    return np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
"""


def named(found: Any) -> set[tuple[str, ...]]:
    report = check(found, tier="quick")
    return {suspect.mistakes for one in report.diagnoses for suspect in one.suspects[:1]}


@pytest.mark.parametrize("parameter", ("temperature=1.0", "temperature", "temperature=None", "*, tau=1"))
@pytest.mark.parametrize("name", ("softmax", "softmax_with_temperature"))
def test_a_temperature_that_divides_holds(loaded: Callable[..., Any], name: str, parameter: str) -> None:
    called = parameter.partition("=")[0].removeprefix("*, ")
    found = loaded(
        SOFTMAX.format(name=name, parameter=parameter, logits=f"x / (1.0 if {called} is None else {called})")
    )
    assert f"`{called}` is 0.5, its logits halved" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0


@pytest.mark.parametrize(
    ("logits", "mistake"), (("x * temperature", "quartered"), ("x", "halved")), ids=("multiplies", "does nothing")
)
def test_a_temperature_that_does_otherwise_is_named(loaded: Callable[..., Any], logits: str, mistake: str) -> None:
    text = SOFTMAX.format(name="softmax", parameter="temperature=1.0", logits=logits)
    assert named(loaded(text)) == {(f"exponent={mistake}",)}


def test_a_default_of_another_temperature_is_left_alone(loaded: Callable[..., Any]) -> None:
    text = SOFTMAX.format(name="softmax", parameter="temperature=0.7", logits="x / temperature")
    assert check(loaded(text), tier="quick", diagnosis=False).exit_status == 1


@pytest.mark.parametrize(("scores", "status"), (("s / temperature", 0), ("s * temperature", 1)))
def test_an_attention_with_a_temperature(loaded: Callable[..., Any], scores: str, status: int) -> None:
    pytest.importorskip("torch")
    text = f"""
import torch

def attention(q, k, v, bias=None, temperature=1.0):
    s = q @ k.mT / q.shape[-1] ** 0.5
    s = {scores}
    if bias is not None:
        s = s + bias
    return s.softmax(-1) @ v
"""
    report = check(loaded(text), tier="quick", diagnosis=False)
    assert report.exit_status == status
    statuses = {one.law.id: one.status for one in report.results}
    # What is added to logits comes before a temperature, or after it: nothing is divided there.
    assert statuses["attention.bias.value"] == "passed"
