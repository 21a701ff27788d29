"""What holds for every trace, whatever recorded it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.run.checking_models import check_model

DTYPES = (np.float64, np.int64, np.bool_)


@pytest.fixture(scope="session")
def assert_in_order() -> Callable[[Trace], None]:
    """Return an assertion: steps read only what there was before, and each value has one origin."""

    def judge(trace: Trace) -> None:
        made = {index for index, value in enumerate(trace.values) if value.origin != "step"}
        for step in trace.steps:
            assert set(step.operands) <= made, step
            assert not set(step.results) & made, step
            made.update(step.results)
        assert made == set(range(len(trace.values)))
        assert {value.array.dtype.type for value in trace.values} <= set(DTYPES)
        assert all(trace.values[index].origin == "input" for index in trace.inputs)
        names = [value.name for value in trace.values if value.origin in ("parameter", "buffer")]
        assert all(names) and len(set(names)) == len(names)

    return judge


@pytest.fixture
def report_of(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that checks what is called so in a text, in which one passage may be changed."""

    def report(text: str, name: str, *change: str) -> Any:
        if change:
            assert change[0] in text
            text = text.replace(*change)
        file = tmp_path / "mine.py"
        file.write_text(text)
        return check_model(f"{file}:{name}")

    return report
