"""The calls of a counterexample, that of an operation which raised included."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.counterexample import Counterexample
from veriformer.conformance_tests.inputs import draw_inputs
from veriformer.conformance_tests.subject import CallRecord
from veriformer.spec.operations import Operation


def calls_made(counterexample: Counterexample, operation: Operation) -> tuple[CallRecord, ...]:
    """Return the recorded calls or, where the very first one raised, the call that the case describes."""
    if counterexample.calls or counterexample.case is None:
        return counterexample.calls
    inputs = draw_inputs(operation.name, counterexample.case)
    return (CallRecord(operation.name, inputs.dtype, inputs.arguments(), np.empty(0)),)
