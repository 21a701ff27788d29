"""The results of a run as data, without their presentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.law_result import LawResult, is_unexpected
from veriformer.conformance_tests.core.presentation import Judged
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

VerdictName = Literal["conforms", "violates", "error"]


@dataclass(frozen=True)
class Report(Judged):
    """The outcome of all laws for one implementation.

    `notices`: sentences about the implementation as a whole, such as a misspelt operation, or output that it printed.
    `stale`: a sentence for each expected failure that no longer occurs; these count as violations.
    `derived`: the operations that the framework derives from another by differentiation, and that other.
    `diagnoses`: one entry for each operation that breaks laws.
    `taken_as`: the operations that functions of other names or forms were taken for, by the names of the functions.
    `not_judged`: the public functions of a file that are no operation, each with the reason.
    `judged_alone`: its functions and classes that are checked by their own names.
    `interrupted`: an interrupt ended the run; what it left is not tried, and no mistake may have been looked for.
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
    taken_as: Mapping[str, str] = field(default_factory=dict)
    not_judged: Mapping[str, str] = field(default_factory=dict)
    judged_alone: tuple[str, ...] = ()
    interrupted: bool = False

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
        """The verdict of the whole run.

        `error` when nothing could be judged, else `violates` when a law fails unexpectedly, else `error` when laws were
        not tried, else `conforms`.
        """
        if all(result.status in ("not_declared", "not_tried") for result in self.results):
            return "error"
        if self.stale or any(map(is_unexpected, self.results)):
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
        """The conventions that could not be determined, for each operation."""
        return tuple(finding for finding in self.findings if finding.unknown)

    @property
    def exit_status(self) -> int:
        """0: every declared law holds; 1: a law is violated; 2: nothing could be judged, or not all."""
        return {"conforms": 0, "violates": 1, "error": 2}[self.verdict]

    @property
    def headline(self) -> str:
        """What was found, in one line: "my.py violates 2 of 40 laws"."""
        counts, name = self.counts, plain(self.implementation)
        judged = counts["passed"] + counts["failed"] + counts["errors"]
        broken = sum(map(is_unexpected, self.results))
        if broken:
            return f"{name} violates {broken:,} of {counted(judged, 'law')}"
        if self.verdict == "error":
            return f"{name}: not every law was tried" if judged else f"{name}: no law was judged"
        stale = f", but {counted(len(self.stale), 'expected failure')} no longer fails" if self.stale else ""
        return f"{name} obeys {counted(counts['passed'], 'law')}{stale}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"
