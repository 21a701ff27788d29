"""What holds for every trace, whatever recorded it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from veriformer.adapters.capture.trace import Trace

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
