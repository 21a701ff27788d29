"""An exception that stops many laws, whatever they are about, stands once in a report, with the ids of all of them."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.console import details, report_text
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.report import Report

Array = np.ndarray


def raising(message: str) -> SimpleNamespace:
    """Return operations that raise in about half of their calls, for nothing that sizes or keywords would tell."""

    def refuse(x: Array) -> None:
        if float(x.sum()) > 0.0:
            raise RuntimeError(message.format(shape=x.shape, array=x.tolist(), address=hex(id(x))))

    def softmax(x: Array) -> Array:
        refuse(x)
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def silu(x: Array) -> Array:
        refuse(x)
        return x / (1 + np.exp(-x))

    return SimpleNamespace(softmax=softmax, silu=silu)


def raised_in(report: Report, operation: str) -> list[str]:
    return [one.law.id for one in report.results if one.status == "error" and one.law.operation.name == operation]


@pytest.mark.parametrize("detail", ("this input", "shape {shape}", "{array}", "<Tensor at {address}>"))
def test_an_exception_stands_once_and_every_law_that_it_stopped(detail: str) -> None:
    report = check(raising(f"no backend for {detail}"), tier="quick", seed=3)
    softmax, silu = raised_in(report, "softmax"), raised_in(report, "silu")
    assert min(len(softmax), len(silu)) > 8
    text = report_text(report)
    assert text.count("no backend for") == 1
    assert f"{len(silu)} laws could not be judged, for the same reason as softmax" in text
    assert f"{softmax[0]}, and the same in {len(softmax) - 1} more laws" in text
    assert [law for law in (*softmax, *silu) if law in text] == softmax[:1]
    verbose = report_text(report, Options(verbose=True))
    assert all(law in verbose for law in (*softmax, *silu))
    assert "\n".join(line.plain for line in details(report)).count("no backend for") == 1
    # For a program that reads it each law has its own.
    written = {law["id"]: law["reason"] for law in report_as_json(report)["laws"]}
    assert all("no backend for" in written[law] for law in (*softmax, *silu))


def test_another_exception_has_a_paragraph_of_its_own() -> None:
    target = raising("no backend for this input")
    target.silu = raising("no kernel for this dtype").silu
    text = report_text(check(target, tier="quick", seed=3))
    assert "for the same reason" not in text
    assert (text.count("no backend for"), text.count("no kernel for")) == (1, 1)


def test_a_verbose_report_has_the_case_of_each_operation() -> None:
    report = check(raising("no backend for this input"), tier="quick", seed=3)
    text = report_text(report, Options(verbose=True))
    assert "for the same reason" not in text
    assert len(re.findall(r"^  ! \d+ laws could not be judged$", text, re.MULTILINE)) == 2
