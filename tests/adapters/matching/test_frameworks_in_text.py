"""The framework of a file that imports none: methods, keywords and annotations tell whose arrays a function takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
ATTENTION = """
def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return scores.softmax(dim=-1) @ v
"""
UNSCALED = ATTENTION.replace(" / q.size(-1) ** 0.5", "")
SOFTMAX = """
def softmax(x):
    e = (x - x.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)
"""
OF_OPERATORS = """
def rms_norm(x{annotation}, weight, eps=1e-6):
    return x / ((x * x).mean(-1, keepdims=True) + eps) ** 0.5 * weight
"""


@pytest.mark.parametrize(("text", "law", "failed"), ((ATTENTION, "scale", 0), (UNSCALED, "scale", 1)))
def test_methods_of_tensors_are_called_with_torch(loaded: Loaded, text: str, law: str, failed: int) -> None:
    found = loaded(text)
    assert found.framework.name == "torch"
    assert check(found, laws=f"attention.{law}", tier="quick").counts["failed"] == failed


@pytest.mark.parametrize(
    ("text", "failed"), ((SOFTMAX, 0), (SOFTMAX.replace("x - x.amax(dim=-1, keepdim=True)", "x"), 1))
)
def test_a_function_of_an_operations_name_is_called_with_torch(loaded: Loaded, text: str, failed: int) -> None:
    found = loaded(text)
    assert found.framework.name == "torch"
    assert check(found, laws="softmax.large_logits", tier="quick").counts["failed"] == failed


@pytest.mark.parametrize(
    ("annotation", "framework"),
    (
        ("", "numpy"),
        (': "np.ndarray"', "numpy"),
        (': "torch.Tensor"', "torch"),
        (': "Tensor"', "torch"),
        (': "jax.Array"', "jax"),
    ),
)
def test_annotations_in_strings_name_the_framework(loaded: Loaded, annotation: str, framework: str) -> None:
    text = OF_OPERATORS.format(annotation=annotation)
    assert loaded(text).framework.name == framework


OWN = """
import numpy as np


class Tensor:
    def __init__(self, data):
        self.data = np.asarray(data)

    def exp(self):
        return Tensor(np.exp(self.data))


def of_own(x: "Tensor"):
    return x.exp()


def rms_norm(x, weight, eps=1e-6):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight
"""


def test_methods_of_a_class_of_the_file_and_of_modules_name_none(loaded: Loaded) -> None:
    found = loaded(OWN)
    assert found.framework.name == "numpy"
    assert check(found, laws="rms_norm.value", tier="quick").counts["failed"] == 0


def swiglu(a: Any, b: Any) -> Any:
    return a / (1 + np.exp(-a)) * b


# It is judged between matrices, in a function of ours: its text is that of where it was written.
def test_a_function_of_numpy_that_is_wrapped_stays_one_of_numpy() -> None:
    assert load({"swiglu": swiglu}).framework.name == "numpy"
