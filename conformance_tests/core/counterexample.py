"""The smallest case on which a law fails, with everything needed to read it and to repeat it."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.batches import AnyCase


@dataclass(frozen=True)
class Counterexample:
    """The case, the calls that were made on it, and the verdict; `case` is None for a law tried without cases.

    `eager_allows` says that the law would hold if the implementation's `numerics` were eager instead of fused.
    """

    case: AnyCase | None
    calls: tuple[CallRecord, ...]
    verdict: Verdict
    eager_allows: bool = False
