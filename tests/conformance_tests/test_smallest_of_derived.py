"""Laws of a derived backward pass get their smallest case where its forward pass is right; elsewhere nobody sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import Report, check

pytest.importorskip("torch")

SOFTMAX = """
import torch

framework = "torch"


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        output = torch.softmax(x, dim=-1) FORWARD
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, gradient):
        (output,) = ctx.saved_tensors
        return output * gradient


def softmax(x):
    return Softmax.apply(x)
"""
LAWS = ("softmax.value", "softmax.rows_sum_to_one", "softmax_backward.grad_x")


def checked(folder: Path, forward: str, workers: int = 0) -> Report:
    file = folder / "my_softmax.py"
    file.write_text(SOFTMAX.replace("FORWARD", forward))
    return check(str(file), laws=LAWS, tier="quick", workers=workers)


def size(report: Report) -> int:
    (result,) = (one for one in report.results if one.law.operation.name == "softmax_backward")
    assert result.status == "failed"
    assert result.counterexample is not None
    assert result.counterexample.case is not None
    return result.counterexample.case.size


@pytest.mark.parametrize("workers", [0, 1])
def test_a_wrong_backward_pass_of_a_right_function_has_a_small_case(workers: int, tmp_path: Path) -> None:
    report = checked(tmp_path, "", workers)
    assert report.counts["failed"] == 1
    assert size(report) <= 5


def test_it_is_not_looked_for_where_the_function_is_wrong(tmp_path: Path) -> None:
    report = checked(tmp_path, "+ 0.1")
    assert report.counts["failed"] == 3
    assert size(report) > size(checked(tmp_path, ""))
