"""The first violated law of an operation, told while the other laws are still tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veriformer.conformance_tests.core.first_calls import FirstCalls
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.diagnosis.diagnose import diagnose
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.run.conventions_by_laws import holds_on_its_case, under_others
from veriformer.conformance_tests.run.printing import captured

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.runner import Run

_MOST_NAMED = 2


def first_violation(run: Run, result: LawResult) -> str:
    """Return what the first violated law of an operation shows, in a sentence; empty where that may yet change.

    Another value of a convention that no question has settled may explain the violation, and a wrong forward pass that
    of a gradient.
    """
    operation = result.law.operation.name
    if result.status != "failed" or operation in run.implementation.derived or _holds_otherwise(run, result):
        return ""
    said = f"{operation}: {result.law.id} does not hold ({result.law.statement.rstrip('.')})"
    mistakes = _reproduced(run, result) if run.options.diagnosis else []
    named = f"; on its case the outputs are those of {first_few(mistakes, _MOST_NAMED)}" if mistakes else ""
    return f"{said}{named}. The other laws follow."


def _holds_otherwise(run: Run, result: LawResult) -> bool:
    """Return whether the law holds on its case under another value of a convention that is not settled."""
    profile = run.profile_of(result.law.operation)
    with captured(run.implementation):
        return any(holds_on_its_case(run, other, result) for other in under_others(profile))


def _reproduced(run: Run, result: LawResult) -> list[str]:
    """Return the mistakes that give the results of the case, each alone; none where several together would."""
    profile = run.profile_of(result.law.operation)
    # The calls of the diagnosis are not those of a law.
    subject = replace(profile.subject, calls=[], refusals=None, first_calls=FirstCalls())
    with captured(run.implementation):
        work = Work(is_spent=run.pace.is_spent)
        found = diagnose(replace(profile, subject=subject), [result], run.limits(profile), work)
    alone = [one.mistakes[0] for one in found.suspects if len(one.mistakes) == 1] if found is not None else []
    return alone if found is not None and found.how == "reproduced" else []
