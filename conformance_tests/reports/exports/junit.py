"""JUnit's XML, as Jenkins and GitLab read it: a test suite for each outcome, a test case for each law or part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from veriformer.conformance_tests.core.text import plain, printable
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome
from veriformer.conformance_tests.reports.locations import from_root

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_LONGEST = 1000
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit(outcomes: Sequence[Outcome]) -> str:
    """Return a document that is well-formed whatever names and messages hold."""
    counts = Counter(one.status for outcome in outcomes for one in outcome.checked)
    root = ElementTree.Element(
        "testsuites",
        name="Veriformer",
        tests=str(counts.total()),
        failures=str(counts["failed"]),
        errors=str(counts["error"]),
        time=_time(sum(outcome.seconds for outcome in outcomes)),
    )
    root.extend(map(_suite, outcomes))
    ElementTree.indent(root)
    return f"{_DECLARATION}{ElementTree.tostring(root, encoding='unicode')}\n"


def _suite(outcome: Outcome) -> ElementTree.Element:
    counts = Counter(one.status for one in outcome.checked)
    suite = ElementTree.Element(
        "testsuite",
        name=_line(outcome.name),
        tests=str(counts.total()),
        failures=str(counts["failed"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=_time(outcome.seconds),
    )
    suite.extend(_case(outcome.name, one) for one in outcome.checked)
    ElementTree.SubElement(suite, "system-out").text = _line(outcome.sentence)
    return suite


def _case(name: str, one: Checked) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=_line(f"{name}.{one.group}"), name=_line(one.name), time=_time(one.seconds)
    )
    if one.status == "passed":
        return case
    element = ElementTree.SubElement(case, _ELEMENTS[one.status], message=_line(one.sentence))
    if one.status != "skipped":
        element.set("type", "violation" if one.status == "failed" else "could not be judged")
        element.text = printable(f"{_where(one)}{one.sentence}\n\n{one.text}".rstrip() + "\n")
    return case


def _where(one: Checked) -> str:
    if one.place is None:
        return ""
    return f"{from_root(one.place.file) or one.place.file}:{one.place.line}\n"


def _line(text: str) -> str:
    # What XML cannot hold is a control or unassigned character, which `plain` writes out.
    return plain(text, _LONGEST)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
