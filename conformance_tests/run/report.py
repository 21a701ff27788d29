"""What a run found out, as data; how it is shown is elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from veriformer.conformance_tests.conventions.inference import Finding
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

VerdictName = Literal["conforms", "violates", "error"]


@dataclass(frozen=True)
class Report:
    """The outcome of all laws for one implementation.

    `notices` are sentences about the implementation as a whole: a misspelt operation, output it printed, an entry
    of the list of expected failures that no longer fits (these last, `stale`, count as violations). `derived` names
    the operations that come from differentiating another by the framework, and that other. `diagnoses` has one entry
    for each operation that breaks laws.
    """

    implementation: str
    framework: str
    seed: int
    tier: str
    results: tuple[LawResult, ...]
    findings: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    seconds: float = 0.0
    source: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    diagnoses: tuple[Diagnosis, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Laws by status, and cases."""
        statuses = Counter(result.status for result in self.results)
        return {
            "laws": len(self.results),
            "passed": statuses["passed"],
            "failed": statuses["failed"],
            "not_declared": statuses["not_declared"],
            "errors": statuses["error"],
            "not_tried": statuses["not_tried"],
            "cases": sum(result.cases for result in self.results),
        }

    @property
    def verdict(self) -> VerdictName:
        """What the results come to.

        `error` when nothing could be judged, `violates` when a law fails unexpectedly, `error` again when laws were not
        tried, of which nothing is known, else `conforms`.
        """
        if all(result.status in ("not_declared", "not_tried") for result in self.results):
            return "error"
        unexpected = [r for r in self.results if r.status in ("failed", "error") and r.expected_failure is None]
        if unexpected or self.stale:
            return "violates"
        return "error" if self.counts["not_tried"] else "conforms"

    @property
    def conventions(self) -> dict[str, str]:
        """The conventions found: one entry where all operations agree, else one for each operation."""
        values: dict[str, dict[str, str]] = {}
        for finding in self.findings:
            if finding.how != "standard":
                values.setdefault(finding.convention, {})[finding.operation] = finding.value
        found: dict[str, str] = {}
        for convention, by_operation in values.items():
            if len(set(by_operation.values())) == 1:
                found[convention] = next(iter(by_operation.values()))
            else:
                found |= {f"{operation}.{convention}": value for operation, value in by_operation.items()}
        return found

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The conventions that nothing told, for each operation."""
        return tuple(finding for finding in self.findings if finding.unknown)

    @property
    def exit_status(self) -> int:
        """0: every declared law holds; 1: a law is violated; 2: nothing could be judged, or not all."""
        return {"conforms": 0, "violates": 1, "error": 2}[self.verdict]
