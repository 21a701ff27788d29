"""The outcomes of a check: of an implementation, of a model, and of what could not be loaded."""

from __future__ import annotations

from veriformer.adapters.errors import formatted_traceback
from veriformer.conformance_tests.reports.exports.implementations import implementation_outcome
from veriformer.conformance_tests.reports.exports.models import model_outcome
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem
from veriformer.conformance_tests.reports.locations import definition, raised_at
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report


def report_outcome(report: Report) -> Outcome:
    """Return the outcome of a report."""
    return model_outcome(report) if isinstance(report, ModelReport) else implementation_outcome(report)


def could_not_run(source: str, error: BaseException) -> Outcome:
    """Return the outcome for what could not be loaded or run, at the line that raised where that is known."""
    reason = str(error)
    place = raised_at(source, formatted_traceback(error.__cause__ or error)) or definition(source)
    sentence = f"{source} could not be run: {reason}"
    return Outcome(
        source,
        sentence,
        conforms=False,
        checked=(Checked("veriformer", "run", "error", reason, place=place),),
        problems=(Problem("could_not_run", "error", sentence, source, place),),
        ran=False,
    )
