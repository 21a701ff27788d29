"""The laws of one implementation that was made of a model."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.run.report import Report


@dataclass(frozen=True)
class Judged:
    """The laws of one implementation that was made of a model: of the module at `path`, empty for the whole model.

    `operation` is what the module is. `reason` says why there is no implementation; then the report has no results.
    """

    path: str
    report: Report
    reason: str = ""
    operation: str = "model"
