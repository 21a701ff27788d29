"""What an implementation was loaded from, with the object in a file."""

from __future__ import annotations

from veriformer.conformance_tests.run.report import Report


def target(report: Report) -> str | None:
    """Return the source of the implementation, with the object in a file if the name has one."""
    return target_named(report.implementation, report.source)


def target_named(name: str, source: str | None) -> str | None:
    """Return the source of the implementation of that name, with the object in a file if the name has one."""
    return source if source is None or not name.startswith(f"{source}:") else name
