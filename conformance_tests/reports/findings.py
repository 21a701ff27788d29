"""The conventions that an implementation was found to obey."""

from __future__ import annotations

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.reports.layout import Lines, entry, heading, labelled
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.conventions import CONVENTIONS

_HOW = {"declared": "declared", "inferred": "inferred", "standard": "assumed"}
_WIDTH = 20
_LABEL = 14


def conventions_found(report: Report, options: Options) -> Lines:
    """Return the conventions that are not standard or differ between operations; all of them when verbose."""
    groups = _by_convention(report.findings)
    if not groups:
        return []
    if options.verbose:
        return [heading("Conventions"), *_table(groups, options.width)]
    unknown = {name for name, findings in groups.items() if any(finding.unknown for finding in findings)}
    known = {name: [one for one in findings if not one.unknown] for name, findings in groups.items()}
    notable = {name: sentence for name, findings in known.items() if (sentence := _sentence(name, findings))}
    others = len(groups) - len(unknown | set(notable))
    rest = f"{counted(others, 'other', 'others')} as usual (--verbose)" if others else ""
    found = [*notable.values(), _unknown([one for name in unknown for one in groups[name] if one.unknown]), rest]
    text = joined(found) if any(found[:-1]) else "all as usual (--verbose)"
    if report.verdict == "violates" and len(text) > options.width - _LABEL:
        text = _in_one_line(list(notable), sorted(unknown), others, options.width - _LABEL)
    return entry("Conventions", text, options.width, indent=0, label_width=_LABEL)


def _in_one_line(notable: list[str], unknown: list[str], others: int, width: int) -> str:
    """Return the names of conventions, or how many there are where a line has no room for these.

    What is wrong needs the other lines of a screen.
    """
    rest = f"{others} as usual" if others else ""
    kinds = {"not as usual": notable, "unknown": unknown}
    named = [f"{len(names)} {kind} ({', '.join(names)})" for kind, names in kinds.items() if names]
    counted_only = [f"{len(names)} {kind}" for kind, names in kinds.items() if names]
    text = f"{joined([*named, rest])} (--verbose)"
    return text if len(text) <= width else f"{joined([*counted_only, rest])} (--verbose)"


def _unknown(findings: list[Finding]) -> str:
    """Return the unknown conventions, each with its possible values; empty if there are none."""
    standing = sorted({f"{one.convention}: {' or '.join(map(plain, one.standing))}" for one in findings})
    return f"{len({one.convention for one in findings})} unknown ({'; '.join(standing)})" if findings else ""


def _by_convention(findings: tuple[Finding, ...]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.convention, []).append(finding)
    return groups


def _sentence(convention: str, findings: list[Finding]) -> str:
    """Return what is notable about a convention; empty if every operation has the standard value."""
    standard = CONVENTIONS[convention].standard
    special = [finding for finding in findings if finding.value != standard]
    if not special:
        return ""
    if len({finding.value for finding in findings}) == 1:
        return f"{convention} {plain(special[0].value)} ({_HOW[special[0].how]})"
    parts = [f"{plain(finding.value)} in {finding.operation} ({_HOW[finding.how]})" for finding in special]
    return f"{convention} {' and '.join(parts)}"


def _table(groups: dict[str, list[Finding]], width: int) -> Lines:
    lines: Lines = []
    for convention, findings in groups.items():
        meanings = {value.name: value.meaning for value in CONVENTIONS[convention].values}
        by_answer: dict[tuple[str, str], list[str]] = {}
        for finding in findings:
            stand = f"unknown, {' or '.join(map(plain, finding.standing))}; laws took" if finding.unknown else ""
            by_answer.setdefault((finding.value, stand or _HOW[finding.how]), []).append(finding.operation)
        rows = [
            f"{plain(value)} ({how}): {meanings.get(value, '')}"
            + (f"; {first_few(operations, 9)}" if len(by_answer) > 1 else "")
            for (value, how), operations in by_answer.items()
        ]
        lines += [line for number, row in enumerate(rows) for line in _entry("" if number else convention, row, width)]
    return lines


def _entry(label: str, text: str, width: int) -> Lines:
    return entry(label, text, width, indent=2, label_width=_WIDTH) if text else labelled(label, [""])
