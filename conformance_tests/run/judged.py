"""The laws of one implementation that was made of a model."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.core.law_result import LawResult, Status
from veriformer.conformance_tests.run.report import Report


@dataclass(frozen=True)
class Judged:
    """The laws of one implementation that was made of a model: of the module at `path`, empty for the whole model.

    `operation` is what the module is. `reason` says why there is no implementation; then the report has no results but
    what shows that by itself.
    """

    path: str
    report: Report
    reason: str = ""
    operation: str = "model"

    @property
    def is_part(self) -> bool:
        """Whether this is a module of the model, and not the whole."""
        return bool(self.path)

    @property
    def broken(self) -> tuple[LawResult, ...]:
        """The laws that are broken, without those that correct models may break.

        A whole model may refuse what it was not made for. A part is called with what its model might hand over, so that
        an exception counts as well.
        """
        counting: tuple[Status, ...] = ("failed", "error") if self.is_part else ("failed",)
        must = (one for one in self.report.results if one.law.obligation == "must")
        return tuple(one for one in must if one.status in counting and one.answered)
