"""An interrupt while the rest of a file is checked leaves the reports that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.cli.rest_of_file import reports_of
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

SOURCE = """
import torch

def softmax(x):
    return x.softmax(-1)

class First(torch.nn.Module):
    def forward(self, x):
        return x

class Second(torch.nn.Module):
    def forward(self, x):
        return x
"""


def test_what_was_not_reached_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(SOURCE)

    def report_of(source: str) -> Report:
        if source.endswith(":First"):
            raise KeyboardInterrupt
        return Report(source, "torch", 0, "quick", (LawResult(LAWS["softmax.shift"], "passed", 1),))

    reports = reports_of(str(file), report_of, whole=True)
    assert [one.implementation.rpartition(":")[2] for one in reports[1:]] == ["Second"]
    assert reports[0].interrupted
    assert any("First" in notice and "not reached before the interrupt" in notice for notice in reports[0].notices)


def test_nothing_is_reported_where_nothing_was_judged(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(SOURCE)

    def report_of(source: str) -> Report:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reports_of(str(file), report_of, whole=True)
