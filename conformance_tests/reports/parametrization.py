"""One test for each law, in a test function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from veriformer.conformance_tests.core.selection import Effort
    from veriformer.conformance_tests.reports.law_tests import LawTest
    from veriformer.conformance_tests.run.expected_failures import ExpectedFailures


def parametrize_with_laws(
    implementation: object,
    *,
    operations: Sequence[str] | None = None,
    laws: Sequence[str] | None = None,
    tier: Effort = "standard",
    seed: int = 0,
    expected_failures: ExpectedFailures | Path | str | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Make one test of every law of every operation that the implementation declares.

        @parametrize_with_laws("my_attention.py")
        def test_conformance(law):
            law()

    Called, `law` fails the test when the law is violated or the operation raises, and skips it when the
    implementation has not declared what the law is about. It has `id` and `statement`. `implementation` is a
    built-in name, a file (seen from the working directory), an import path, or any object with operations.
    Raises LoadError, UnknownName or UnreadableList when the tests are collected.
    """
    import pytest
    from veriformer.adapters.files import place_of
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.conformance_tests.reports.law_tests import law_tests
    from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
    from veriformer.conformance_tests.run.options import RunOptions

    wanted_operations, wanted_laws = (None if names is None else tuple(names) for names in (operations, laws))
    selection = Selection(wanted_operations, wanted_laws, None, tier, seed)
    options = RunOptions(selection, ExpectedFailures.of(expected_failures))
    return pytest.mark.parametrize("law", [_parameter(test) for test in law_tests(place_of(implementation), options)])


def _parameter(test: LawTest) -> Any:
    import pytest

    marks = [pytest.mark.skip(reason=test.skip_reason)] if test.skip_reason else []
    return pytest.param(test, id=test.id, marks=marks)
