"""How long a law of each operation takes, roughly: what is long is begun first, so that all workers end together."""

from __future__ import annotations

from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.operations.suites import suite_of


def weight(law: Law) -> int:
    """Return the time that a law is expected to take, in a unit of its own."""
    return suite_of(law.statement.operation.name).weight
