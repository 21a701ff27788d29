"""What became of one answer: done, not begun, not clear, or the first law that it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veriformer.lessons.exercise import Exercise

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.law_result import LawResult
    from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
    from veriformer.conformance_tests.run.report import Report

State = Literal["done", "not_begun", "unclear", "broken"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one exercise.

    `sentence` says what there is to say without a law: that nothing has been written, or why nothing can be graded.
    `law` is the first broken law in the order of strength. `notes` are further sentences, such as that the answer
    prints. `held` and `tried` count laws, or answers to questions. `place` is the file, or what was handed over.
    """

    exercise: Exercise
    state: State
    sentence: str = ""
    law: LawResult | None = None
    report: Report | None = None
    notes: tuple[str, ...] = ()
    held: int = 0
    tried: int = 0
    place: str = ""

    @property
    def done(self) -> bool:
        """Whether every law holds, or every answer is right."""
        return self.state == "done"

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The known mistake behind the broken laws of the operation of the first one; None if none explains them."""
        if self.report is None or self.law is None:
            return None
        own = self.law.law.operation.name
        return next((one for one in self.report.diagnoses if one.operation == own and one.suspects), None)

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The slugs of the likeliest mistake, or of two that are made together; none where nothing known fits."""
        return self.diagnosis.suspects[0].mistakes if self.diagnosis else ()

    def __str__(self) -> str:
        """Return the feedback without colours."""
        from veriformer.conformance_tests.reports.layout import as_text
        from veriformer.lessons.feedback import outcome_lines

        return as_text(outcome_lines(self))

    def __repr__(self) -> str:
        """Return the feedback, which is what a notebook without HTML shows."""
        return str(self)

    def _repr_html_(self) -> str:
        from veriformer.lessons.feedback_html import outcome_html

        return outcome_html(self)
