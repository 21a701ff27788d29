from __future__ import annotations

from typing import Any

import numpy as np
import torch
from veriformer import check


def softmax(x: Any, axis: int = -1) -> Any:
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def softmax_backward(dy: Any, y: Any) -> Any:
    # Plain operators, which take arrays of torch as well.
    return y * (dy - (dy * y).sum(-1)[..., None])


def gelu(x: Any) -> Any:
    return torch.nn.functional.gelu(x)


def rms_norm(x: Any, gamma: Any, eps: float = 1e-6) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gamma


def mean_of(first: Any, second: Any) -> Any:
    return (first + second) / 2


def of(report: Any) -> set[str]:
    return {one.law.operation.name for one in report.results if one.status == "passed"}


def test_what_is_no_operation_is_named_in_python_too() -> None:
    report = check({"softmax": softmax, "mean_of": mean_of}, tier="quick")
    assert any(one.startswith("not judged: mean_of") for one in report.notices)


def test_a_function_of_plain_operators_is_judged_with_the_others() -> None:
    report = check({"softmax": softmax, "softmax_backward": softmax_backward}, tier="quick")
    assert of(report) == {"softmax", "softmax_backward"}


def test_a_function_of_another_framework_is_named() -> None:
    report = check({"softmax": softmax, "rms_norm": rms_norm, "gelu": gelu}, tier="quick")
    assert {"softmax", "rms_norm"} <= of(report)
    assert any(one.startswith("not judged: gelu (") and "framework" in one for one in report.notices)
