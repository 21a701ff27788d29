"""Calls that a process did not survive although a fresh one does, reported once for each operation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.operations import OPERATIONS


@dataclass
class Survival:
    """The processes of one implementation; `_said` are the operations for which a law has reported it."""

    implementation: Implementation
    _said: set[str] = field(default_factory=set)

    def reported_by(self, result: LawResult) -> LawResult:
        """Return a result; the first that passes afterwards becomes the error that reports the call."""
        operation = result.law.operation.name
        sentence = self.implementation.not_survived(operation)
        if not sentence or operation in self._said or result.status != "passed":
            return result
        self._said.add(operation)
        return replace(result, status="error", reason=sentence, answered=False)

    def notices(self) -> list[str]:
        """Return the sentences that no law reports, because none passed."""
        sentences = {name: self.implementation.not_survived(name) for name in OPERATIONS if name not in self._said}
        return [sentence for sentence in sentences.values() if sentence]
