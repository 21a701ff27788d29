"""Conventions that no probe determined: operations that break laws are judged under the other possible values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.conventions.standing import explaining, others_standing, under
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult, is_broken
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run.applicability import not_declared
from veriformer.conformance_tests.run.printing import captured

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.runner import Run


def judged_under_others(run: Run, chosen: list[Law], tried: Mapping[str, LawResult]) -> dict[str, LawResult]:
    """Return new results, by law id, of operations whose results other possible conventions explain better.

    The run then has these operations under those conventions. `chosen` are all laws of the run. A law that was not
    tried is not tried here either; the others are judged whatever the budget, since the convention alone may have
    broken them.
    """
    changed: dict[str, LawResult] = {}
    broken = (result.law.operation.name for result in tried.values() if is_broken(result))
    for operation in dict.fromkeys(broken):
        if any(finding.unknown for finding in run.findings_of(operation)):
            its = [result for result in tried.values() if result.law.operation.name == operation]
            untried = {result.law.id for result in its if result.status == "not_tried"}
            its = [result for result in its if result.law.id not in untried]
            about = [law for law in chosen if law.statement.operation.name == operation and law.id not in untried]
            with run.pace.suspended():
                changed |= _judged_otherwise(run, operation, about, its)
    return changed


def _judged_otherwise(run: Run, operation: str, about: list[Law], its: list[LawResult]) -> dict[str, LawResult]:
    profile = run.broken_profile(operation, its)
    if profile is None:
        return {}
    with captured(run.implementation):
        others = under_others(profile)
        on_case, on_all = partial(holds_on_its_case, run), partial(_judged, run)
        found = explaining(profile, others, about, its, on_case, on_all)
    if found is None:
        return {}
    run.profiles[operation], judged = found
    run.settled.add(operation)
    # Laws that still fail get their smallest counterexample.
    again = [law for law in about if is_broken(judged[law.id])]
    judged |= {law.id: run.try_in_run(law) for law in again}
    return {name: run.with_reason(result) for name, result in judged.items()}


def under_others(profile: Profile) -> list[Profile]:
    """Return an operation under every other combination of values that stand, without what it was found to refuse.

    Under another layout, for example, other calls raise; which ones is explored when all laws are judged.
    """
    others = (under(profile, values) for values in others_standing(profile))
    return [replace(other, subject=replace(other.subject, refusals=None)) for other in others]


def holds_on_its_case(run: Run, profile: Profile, result: LawResult) -> bool:
    """Return whether a law holds under the conventions of a profile on the case that broke it."""
    case = result.counterexample.case if result.counterexample else None
    return run.search(laws()[result.law.id], profile).judge(case).kind == "holds"


def _judged(run: Run, profile: Profile, law: Law) -> LawResult:
    """Return the result of a law on its cases, without shrinking."""
    reason = not_declared(run.implementation, law)
    if reason:
        return LawResult(law.statement, "not_declared", reason=reason)
    if profile.subject.refusals is None:
        run.refusing(profile)
    started = time.monotonic()
    return replace(run.searched(law, profile, shrink=False), seconds=time.monotonic() - started)
