"""The suite of dropout."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.dropout.cases import (
    IN_TRAINING,
    DropoutCase,
    DropoutSpace,
    dropout_cases,
)
from veriformer.conformance_tests.operations.dropout.inputs import DropoutInputs
from veriformer.conformance_tests.operations.dropout.rarities import ENTRIES


def ordinary(extras: How) -> DropoutSpace:
    """Return the space of ordinary cases: in training, and with `extras` in evaluation too."""
    return DropoutSpace(training=IN_TRAINING if extras == "never" else (*IN_TRAINING, False))


SUITES = (
    Suite(
        "dropout",
        space=ordinary,
        draw=dropout_cases,
        inputs=DropoutInputs,
        weight=12,
        ordinary=DropoutCase(2, 3, 4, palette="normal"),
        rarities=ENTRIES,
        variants=("veriformer.conformance_tests.operations.dropout.variants", "DROPOUT"),
    ),
)
