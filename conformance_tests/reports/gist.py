"""One broken law in a line: the mistake where it is known, and what the law says, or why it could not be judged."""

from __future__ import annotations

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import first_few, plain
from veriformer.conformance_tests.run.report import Report

_MOST_SUSPECTS = 2


def gist(report: Report, result: LawResult) -> str:
    """Return the mistake and the law's statement; of a law that could not be judged, the reason.

    The name of the mistake comes first, since lists of tests are cut at the width of the terminal.
    """
    if result.status == "error":
        return plain(result.reason)
    mistake = _mistake(report, result)
    return f"{mistake}: {result.law.statement}" if mistake else result.law.statement


def _mistake(report: Report, result: LawResult) -> str:
    """Return the names of the mistakes whose outputs the operation returns; empty where none is known."""
    operation = result.law.operation.name
    found = next((one for one in report.diagnoses if one.operation == operation and one.how == "reproduced"), None)
    if found is None or result.law.id in found.unexplained:
        return ""
    names = [" and ".join(map(plain, suspect.mistakes)) for suspect in found.suspects]
    return first_few(names, _MOST_SUSPECTS).replace(", ", " or ")
