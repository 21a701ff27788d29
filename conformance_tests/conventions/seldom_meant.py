"""Sentences about conventions that an operation follows, correctly but seldom on purpose."""

from __future__ import annotations

from collections.abc import Iterable

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.text import first_few
from veriformer.spec.conventions import CONVENTIONS


def seldom_meant(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each inferred value that is often followed by accident; a declared value is meant."""
    followed: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.how == "inferred" and not finding.unknown:
            followed.setdefault((finding.convention, finding.value), []).append(finding.operation)
    return [
        f"{first_few(operations)}: {convention} is {value.name} ({value.meaning}), {value.seldom_meant}; "
        "declare it if it is meant, or else correct it"
        for (convention, name), operations in followed.items()
        for value in CONVENTIONS[convention].values
        if value.name == name and value.seldom_meant
    ]
