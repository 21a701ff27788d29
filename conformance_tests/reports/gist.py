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
    mistake = "" if _is_unexplained(report, result) else mistake_names(report, result.law.operation.name)
    return f"{mistake}: {result.law.statement}" if mistake else result.law.statement


def mistake_names(report: Report, operation: str) -> str:
    """Return the names of the mistakes whose outputs an operation returns; empty where none is known."""
    found = next((one for one in report.diagnoses if one.operation == operation and one.how == "reproduced"), None)
    if found is None:
        return ""
    names = [" and ".join(map(plain, suspect.mistakes)) for suspect in found.suspects]
    return first_few(names, _MOST_SUSPECTS).replace(", ", " or ")


def mistake_in_words(report: Report, operation: str) -> str:
    """Return the mistake of an operation as far as it is known, or that it is not, or was not looked for."""
    found = next((one for one in report.diagnoses if one.operation == operation), None)
    if found is None:
        return "its mistake was not looked for"
    if found.how == "reproduced":
        return mistake_names(report, operation)
    names = [" and ".join(map(plain, suspect.mistakes)) for suspect in found.suspects]
    return f"perhaps {first_few(names, _MOST_SUSPECTS).replace(', ', ' or ')}" if names else "no known mistake"


def _is_unexplained(report: Report, result: LawResult) -> bool:
    """Return whether the mistake of an operation does not explain why a law fails."""
    its = (one for one in report.diagnoses if one.operation == result.law.operation.name)
    return any(result.law.id in one.unexplained for one in its)
