"""The inputs of one call: arrays, their changes, the expected result and its error bound."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs
from veriformer.conformance_tests.drawing.batches import AnyCase, TakenOut
from veriformer.conformance_tests.drawing.rarity import RareCase
from veriformer.conformance_tests.operations.changes import changed
from veriformer.conformance_tests.operations.suites import suite_of


def draw_inputs(operation: str, case: AnyCase) -> Inputs:
    """Return the inputs that a case describes, of the kind that the operation takes."""
    if isinstance(case, TakenOut):
        whole = draw_inputs(operation, case.whole)
        if not isinstance(whole, SampledInputs):
            raise TypeError(f"the inputs of {operation} have no samples to take out")
        return whole.take_samples(np.array(case.samples))
    if isinstance(case, RareCase):
        return changed(draw_inputs(operation, case.whole), case.changes, case.seed)
    return suite_of(operation).inputs.draw(operation, case)


def has_samples(operation: str) -> bool:
    """Return whether the samples of a call are cases of their own, of which a call may carry many."""
    kind = suite_of(operation).inputs
    return isinstance(kind, type) and issubclass(kind, SampledInputs) and not kind.adds_samples
