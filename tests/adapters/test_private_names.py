"""No message shows the names that files have inside Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.json_report import report_as_json

SOURCE = """
class Odd(Exception):
    pass


class Box:
    pass


class Model:
    def softmax(self, x):
        raise Odd(f"cannot take {Box()!r} in {self!r} of {type(self)}")

    def gelu(self, x):
        return Box()

    def silu(self, x):
        print(self)
        return x


model = Model()
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_files_keep_their_own_names(tmp_path: Path, isolate: bool) -> None:
    file = tmp_path / "cls.py"
    file.write_text(SOURCE)
    laws = ("softmax.value", "gelu.value", "silu.value")
    report = check(f"{file}:model", laws=laws, tier="quick", isolate=isolate)
    written = str(report_as_json(report)) + "".join(result.traceback for result in report.results)
    assert "_veriformer_" not in written
    assert "cannot take <cls.Box object> in <cls.Model object> of <class 'cls.Model'>" in written
    assert "gelu returned a cls Box" in written
    assert "beginning with '<cls.Model object>'" in "".join(report.notices)
