"""Whether a mistake is named must not depend on what else the machine does while the tests run."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests.diagnosis import calls

# The time that a diagnosis takes is measured in benchmarks/diagnosis_power.py.
_PATIENCE = 3.0


@pytest.fixture(autouse=True)
def _diagnoses_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "UNTIL", calls.Until(*(_PATIENCE * seconds for seconds in calls.UNTIL)))
