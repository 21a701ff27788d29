"""The sentences that name the functions of a file or a dictionary that a report is not about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from veriformer.conformance_tests.run.report import Report

# How the reasons begin that speak of no operation.
_UNLIKE = ("nearest are", "no operation", "its name says")
_ALONE = "another function is this operation, or most are of another framework; check it by itself"
_IN_PYTHON = "check({OPERATION: function}) names one"


def left_out(reasons: Mapping[str, str], how: str) -> list[str]:
    """Return the sentences that name what is left out; one names what nothing suggests, and says `how` to."""
    unlike = [name for name, reason in reasons.items() if reason.startswith(_UNLIKE)]
    near = [f"not judged: {name} ({reason})" for name, reason in reasons.items() if name not in unlike]
    return [*near, f"not judged: {', '.join(unlike)} (no operation fits; {how})"] if unlike else near


def naming_what_is_left_out(report: Report) -> Report:
    """Return a report of a call in Python with the sentences that name what is left out."""
    reasons = reasons_by_name(report.not_judged, report.judged_alone)
    return replace(report, notices=(*report.notices, *left_out(reasons, _IN_PYTHON)))


def reasons_by_name(not_judged: Mapping[str, str], judged_alone: Iterable[str]) -> dict[str, str]:
    """Return the reason why each function is not judged that is no operation, or has to be checked by itself."""
    reasons = {name: why or "no operation fits it" for name, why in not_judged.items()}
    return reasons | dict.fromkeys(judged_alone, _ALONE)
