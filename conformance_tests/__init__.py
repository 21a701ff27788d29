"""Whether an implementation obeys the laws: cases, tolerances, the runner, the reports.

`check(implementation)` returns a `Report`; `identify(implementation)` returns the conventions that it obeys, with
the evidence; `compare(one, other)` returns a `Comparison` of two implementations, a `PortComparison` of two models;
`parametrize_with_laws(implementation)` makes one pytest test per law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veriformer.conformance_tests.comparison.choosing import compare
    from veriformer.conformance_tests.comparison.comparing import compare_implementations
    from veriformer.conformance_tests.comparison.comparison import Comparison
    from veriformer.conformance_tests.conventions.identification import Identification, identify
    from veriformer.conformance_tests.ports.findings import PortComparison
    from veriformer.conformance_tests.reports.parametrization import parametrize_with_laws
    from veriformer.conformance_tests.run.checking import check
    from veriformer.conformance_tests.run.report import Report

__all__ = [
    "Comparison",
    "Identification",
    "PortComparison",
    "Report",
    "check",
    "compare",
    "compare_implementations",
    "identify",
    "parametrize_with_laws",
]

_HOMES = {
    "check": "run.checking",
    "compare": "comparison.choosing",
    "compare_implementations": "comparison.comparing",
    "Comparison": "comparison.comparison",
    "PortComparison": "ports.findings",
    "Report": "run.report",
    "identify": "conventions.identification",
    "Identification": "conventions.identification",
    "parametrize_with_laws": "reports.parametrization",
}


def __getattr__(name: str) -> Any:
    # pytest imports this package at every start to find the plugin; NumPy and Hypothesis must not come with it.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
